package events

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"testing"

	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/words/ent/schema"
)

// Fields that are called like words of JSON, JavaScript, TypeScript, Go, SQL and of events themselves
// come with events, whole; subscribers read them.
func TestWordsAreNamesInEvents(t *testing.T) {
	if pgtest.ForEach(t, TestWordsAreNamesInEvents) {
		return
	}
	t.Parallel()
	row, other := map[string]any{}, map[string]any{}
	for _, f := range new(schema.Word).Fields() {
		name := catalog.Camel(f.Descriptor().Name)
		switch f.Descriptor().Info.Type {
		case field.TypeString:
			row[name], other[name] = "x", "y"
		case field.TypeInt:
			row[name], other[name] = 7.0, 8.0
		case field.TypeBool:
			row[name], other[name] = true, false
		default:
			row[name], other[name] = map[string]any{"enum": map[string]any{"const": 1.0}}, map[string]any{"items": map[string]any{"default": 2.0}}
		}
	}
	require.Greater(t, len(row), 150)
	text := func(v any) string {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return string(raw)
	}
	needs.Node(t)
	s := process(t, "words", place(t))
	all := s.follow(url.Values{"entity": {"Word"}})
	cmd := exec.CommandContext(t.Context(), "node", "../npm/subscribe.mjs", s.url+"/mcp", "koan://entities/Word")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	client := bufio.NewReader(out)
	items := func(n int) {
		line, err := client.ReadString('\n')
		require.NoError(t, err)
		require.JSONEq(t, `{"uri":"koan://entities/Word","items":`+text(n)+`}`, line)
	}
	items(0)

	has := func(image any, want map[string]any) {
		got, _ := image.(map[string]any)
		for name, value := range want {
			require.Contains(t, got, name)
			require.Equal(t, value, got[name], name)
		}
	}
	made := s.do(http.StatusCreated, "POST", "/api/word", text(row))
	id := made["id"].(string)
	e := all.next()
	require.Equal(t, "create Word default/"+id, e.brief())
	has(e.data["after"], row)
	items(1)

	s.do(http.StatusOK, "PATCH", "/api/word/"+id, text(other))
	e = all.next()
	require.Equal(t, "update Word default/"+id, e.brief())
	has(e.data["before"], row)
	has(e.data["after"], other)
}
