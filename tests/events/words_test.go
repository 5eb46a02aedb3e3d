package events

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"testing"

	stdent "entgo.io/ent"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/words"
	"github.com/koan-go/koan/tests/words/ent"
	"github.com/koan-go/koan/tests/words/ent/schema"
	"github.com/koan-go/koan/tests/words/ent/word"
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

// Rules about columns that are called like words of SQL decide about rows as they were.
func TestRulesOnColumnsOfAnyName(t *testing.T) {
	if pgtest.ForEach(t, TestRulesOnColumnsOfAnyName) {
		return
	}
	t.Parallel()
	app := words.App()
	app.Entities = ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Word.Intercept(stdent.TraverseFunc(func(_ context.Context, q stdent.Query) error {
			of := q.(*ent.WordQuery)
			of.Where(word.Or(word.True(true), word.And(word.TypeEQ("shown"), word.FalseIsNil(), word.NullIsNil(), word.TableEQ(false))))
			return nil
		}))
	}))
	s := serve(t, app, framework.HTTPOptions{})
	all := s.follow(url.Values{"entity": {"Word"}})
	shown := s.do(http.StatusCreated, "POST", "/api/word", `{"true":true,"default":{"a":1}}`)["id"].(string)
	require.Equal(t, "create Word default/"+shown, all.next().brief())
	s.do(http.StatusCreated, "POST", "/api/word", `{"true":false}`)
	other := s.do(http.StatusCreated, "POST", "/api/word", `{"type":"shown"}`)["id"].(string)
	require.Equal(t, "create Word default/"+other, all.next().brief(), "the one between is hidden")
	s.do(http.StatusOK, "PATCH", "/api/word/"+other, `{"true":true}`)
	require.Equal(t, "update Word default/"+other, all.next().brief())
	s.do(http.StatusOK, "PATCH", "/api/word/"+shown, `{"true":false}`)
	e := all.next()
	require.NotNil(t, e.data["before"])
	require.Nil(t, e.data["after"], "it is hidden now")
}
