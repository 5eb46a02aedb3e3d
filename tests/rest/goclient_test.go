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
	"github.com/koan-go/koan/tests/shop"
	"github.com/koan-go/koan/tests/soak"
)

// goClient generates a client of an app in Go, compiles testdata/goclient/NAME with it, runs that
// program against the app, and reads what it prints.
func goClient(t *testing.T, name, tags string, app framework.App, into any) {
	t.Helper()
	s := serve(t, app, framework.HTTPOptions{})
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
	run("../..", "tool", "-modfile=tools/go.mod", "oapi-codegen", "-generate", "types,client", "-include-tags", tags, "-package", "api", "-o", filepath.Join(dir, "api", "client.go"), fileOf(t, s))
	out := run(dir, "run", "./"+name, s.url)
	require.NoError(t, json.Unmarshal(out, into), "%s", out)
}

// A client in Go that a generator makes of the document compiles, and does what it says.
func TestOpenAPIGoClient(t *testing.T) {
	t.Parallel()
	var said struct {
		Title, Priority, ETag, Problem string
		Created, Changed, Stale, Gone  int
		Count, Groups                  int
		File, Step, Back               string
	}
	goClient(t, "fixture", "Todo,Step,Files", fixture.App(), &said)
	require.Equal(t, "Buy milk", said.Title)
	require.Equal(t, "high", said.Priority)
	require.Equal(t, []int{201, 200, 412, 404}, []int{said.Created, said.Changed, said.Stale, said.Gone})
	require.Equal(t, "conflict", said.Problem)
	require.Equal(t, 1, said.Count)
	require.Equal(t, "a file", said.File)
	require.Equal(t, []string{"Take the bag", "Buy milk"}, []string{said.Step, said.Back}, "rows of relationships, found by a filter")
	require.Equal(t, 1, said.Groups)
}

// It writes filters of decimals, integers that no float64 holds, enums, objects and lists, over
// relationships in both directions, and reads all of these.
func TestOpenAPIGoClientOfShop(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	said := map[string]any{}
	goClient(t, "shop", "Category,Product,Customer,Order,Line", shop.App(), &said)
	require.Equal(t, map[string]any{
		"price": "3.50", "serial": "9007199254740993", "status": "on_sale", "width": 10.0, "origin": "Assam", "grams": 100.0, "tags": []any{"hot"},
		"parent": "Drinks", "buyer": "Ann", "groups": 1.0, "sum": 2.0,
	}, said)
}

func TestOpenAPIGoClientOfPantryPal(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	said := map[string]any{}
	goClient(t, "pantrypal", "PantryItem,Detection,Household", pantryPal(), &said)
	require.Equal(t, map[string]any{"name": "Sourdough starter", "food": true, "box": nil, "places": []any{map[string]any{"place": "fridge", "count": 1.0}}}, said)
}
