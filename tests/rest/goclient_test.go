package rest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
)

// A client in Go that a generator makes of the document compiles, and does what it says.
func TestOpenAPIGoClient(t *testing.T) {
	t.Parallel()
	s := serve(t, fixture.App(), framework.HTTPOptions{})
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/goclient")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "api"), 0o700))
	run := func(in string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = in
		var errs strings.Builder // it says there what it downloads
		cmd.Stderr = &errs
		out, err := cmd.Output()
		require.NoError(t, err, "%v\n%s%s", args, out, &errs)
		return out
	}
	run("../..", "tool", "-modfile=tools/go.mod", "oapi-codegen", "-generate", "types,client", "-include-tags", "Todo,Step,Files", "-package", "api", "-o", filepath.Join(dir, "api", "client.go"), fileOf(t, s))
	var said struct {
		Title, Priority, ETag, Problem string
		Created, Changed, Stale, Gone  int
		Count, Groups                  int
		File, Step, Back               string
	}
	out := run(dir, "run", ".", s.url)
	require.NoError(t, json.Unmarshal(out, &said), "%s", out)
	require.Equal(t, "Buy milk", said.Title)
	require.Equal(t, "high", said.Priority)
	require.Equal(t, []int{201, 200, 412, 404}, []int{said.Created, said.Changed, said.Stale, said.Gone})
	require.Equal(t, "conflict", said.Problem)
	require.Equal(t, 1, said.Count)
	require.Equal(t, "a file", said.File)
	require.Equal(t, []string{"Take the bag", "Buy milk"}, []string{said.Step, said.Back}, "rows of relationships, found by a filter")
	require.Equal(t, 1, said.Groups)
}
