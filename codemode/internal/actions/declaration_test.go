package actions

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestReadDeclaration(t *testing.T) {
	d, wrong := Read(json.RawMessage(`{"title":"T","description":"D.","input":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},"output":{"type":"string"},` +
		`"effects":{"destructive":true},"rights":"app","scopes":["x:y"],"sets":["default","tenant-*"],"examples":[{"a":1}],"listed":false}`))
	require.Empty(t, wrong)
	require.True(t, d.App && d.Declared)
	require.Equal(t, ListedNever, d.Listed)
	require.Equal(t, catalog.Effects{Destructive: true}, d.Effects)
	require.Equal(t, []string{"default", "tenant-*"}, d.Sets)

	d, wrong = Read(json.RawMessage(`{"description":"D."}`))
	require.Empty(t, wrong)
	require.Equal(t, catalog.Effects{Destructive: true, Outside: true}, d.Effects, "nobody said what it does")
	require.Equal(t, ListedByMode, d.Listed)
	require.JSONEq(t, noInput, string(d.Input))
}

func TestReadReportsAllProblems(t *testing.T) {
	_, wrong := Read(json.RawMessage(`{"titel":"T","description":" ","input":{"type":"string"},"output":{"type":"nothing"},"effects":{"readonly":true,"destructive":1},"rights":"root","scopes":["a b"],"sets":[],"examples":{},"listed":1}`))
	found := map[string]string{}
	for _, w := range wrong {
		found[w.Path] = w.Message
	}
	for path, message := range map[string]string{
		"/titel": `did you mean "title"`, "/description": "is empty", "/input": "schema of an object", "/output/type": "not a JSON Schema",
		"/effects/readonly": `did you mean "readOnly"`, "/effects/destructive": "true or false", "/rights": "caller or app", "/scopes/0": "name of a scope",
		"/sets": "is empty", "/examples": "not a list", "/listed": "true or false",
	} {
		require.Contains(t, found[path], message, path)
	}
	_, wrong = Read(json.RawMessage(`{"description":"D.","input":{"type":"object","properties":{"n":{"type":"nmber"},"s":{"type":"string","pattern":"["}}}}`))
	require.Len(t, wrong, 2)
	require.Equal(t, "/input/properties/s/pattern", wrong[0].Path)
	require.Equal(t, "/input/properties/n/type", wrong[1].Path)
	require.NotContains(t, wrong[1].Message, "schema.json")
	for _, raw := range []string{`[]`, `null`, `1`, `{"a":1,"a":2}`, `{`} {
		_, wrong := Read(json.RawMessage(raw))
		require.NotEmpty(t, wrong, raw)
	}
}

// FuzzReadDeclaration: whatever is declared is an action, or says what is wrong with it.
func FuzzReadDeclaration(f *testing.F) {
	f.Add([]byte(`{"description":"D.","input":{"type":"object","properties":{"a":{"enum":["x"]}}},"examples":[{"a":"x"}],"effects":{"readOnly":true}}`))
	f.Add([]byte(`{"description":"D.","rights":"app","sets":["*"],"scopes":[""],"output":true}`))
	f.Add([]byte(`{"input":{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, wrong := Read(raw)
		if (d == nil) != (len(wrong) > 0) {
			t.Fatalf("%v and %v", d, wrong)
		}
		if d != nil && (d.Description == "" || !json.Valid(d.Input) || !json.Valid(d.Output)) {
			t.Fatalf("an incomplete action: %+v", d)
		}
	})
}
