package approve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/store"
)

var todoShape = &catalog.Resource{
	Name: "Todo", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Versioned: true, Version: "version",
	Fields: []catalog.Field{
		{Name: "title", Type: catalog.TypeString},
		{Name: "version", Type: catalog.TypeInt, ReadOnly: true},
		{Name: "rank", Type: catalog.TypeInt, ReadOnly: true},
		{Name: "createdAt", Type: catalog.TypeTime, Generated: true, Immutable: true},
		{Name: "due", Type: catalog.TypeTime, Generated: true},
		{Name: "parentId", Type: catalog.TypeID, Edge: "parent"},
	},
	Edges: []catalog.Edge{{Name: "parent", Target: "Todo", Reference: "parentId"}, {Name: "labels", Target: "Label", Many: true}},
}

func describe(name string) *catalog.Resource {
	if name == "Todo" {
		return todoShape
	}
	return nil
}

// change reads "action entity id before after", with - for nothing.
func change(t *testing.T, text string) store.Change {
	t.Helper()
	p := strings.SplitN(text, " ", 5)
	require.Len(t, p, 5, text)
	c := store.Change{Action: store.Action(p[0]), Entity: p[1], Set: "default", ID: p[2]}
	if p[3] != "-" {
		c.Before = json.RawMessage(p[3])
	}
	if p[4] != "-" {
		c.After = json.RawMessage(p[4])
	}
	return c
}

func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		one, two []string
		same     bool
	}{
		"new ids are counted": {
			[]string{`create Todo 1 - {"id":"1","title":"a"}`, `create Todo 2 - {"id":"2","parentId":"1"}`},
			[]string{`create Todo 8 - {"id":"8","title":"a"}`, `create Todo 9 - {"id":"9","parentId":"8"}`},
			true,
		},
		"references to them are": {
			[]string{`create Todo 1 - {"title":"a"}`, `create Todo 2 - {"title":"b"}`, `create Todo 3 - {"parentId":"1"}`},
			[]string{`create Todo 1 - {"title":"a"}`, `create Todo 2 - {"title":"b"}`, `create Todo 3 - {"parentId":"2"}`},
			false,
		},
		"a reference to what was there is no new one": {
			[]string{`create Todo x - {"parentId":"new 1"}`}, []string{`create Todo y - {"parentId":"y"}`}, false,
		},
		"what the engine keeps":  {[]string{`create Todo 1 - {"createdAt":"2026","version":1}`}, []string{`create Todo 1 - {"createdAt":"2027","version":2}`}, true},
		"what a hook keeps":      {[]string{`create Todo 1 - {"rank":1}`}, []string{`create Todo 1 - {"rank":2}`}, false},
		"a time that was chosen": {[]string{`create Todo 1 - {"due":"2026"}`}, []string{`create Todo 1 - {"due":"2027"}`}, false},
		"other fields of an update": {
			[]string{`update Todo 1 {"title":"a","rank":1} {"title":"b","rank":1}`}, []string{`update Todo 1 {"title":"a","rank":7} {"title":"b","rank":7}`}, true,
		},
		"what an update finds": {[]string{`update Todo 1 {"title":"a"} {"title":"b"}`}, []string{`update Todo 1 {"title":"c"} {"title":"b"}`}, false},
		"what goes":            {[]string{`delete Todo 1 {"title":"a"} -`}, []string{`delete Todo 1 {"title":"b"} -`}, false},
		"the order of rows":    {[]string{`delete Todo 1 {} -`, `delete Todo 2 {} -`}, []string{`delete Todo 2 {} -`, `delete Todo 1 {} -`}, true},
		"the order of ids":     {[]string{`update Todo 1 {"labels":[]} {"labels":["1","2"]}`}, []string{`update Todo 1 {"labels":[]} {"labels":["2","1"]}`}, true},
		"one more":             {[]string{`delete Todo 1 {} -`}, []string{`delete Todo 1 {} -`, `delete Todo 2 {} -`}, false},
		"hidden rows":          {[]string{`delete Todo  - -`}, []string{`delete Todo  - -`, `delete Todo  - -`}, false},
		"unknown entities":     {[]string{`update Note 1 {"a":1.0} {"a":2}`}, []string{`update Note 1 {"a":1.0} {"a":2}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var shapes [2]shape
			for i, texts := range [][]string{c.one, c.two} {
				var changes []store.Change
				for _, text := range texts {
					changes = append(changes, change(t, text))
				}
				shapes[i] = shapeOf(changes, describe)
			}
			require.Equal(t, c.same, shapes[0].digest == shapes[1].digest, "%v\n%v", shapes[0].lines, shapes[1].lines)
			require.Equal(t, c.same, len(shapes[0].differences(shapes[1])) == 0)
		})
	}
}

// A row that the caller may not see has no id, not an empty one.
func TestAChangeWithoutAnID(t *testing.T) {
	raw, err := json.Marshal(store.Change{Entity: "Audit", Set: "default", Action: store.Create})
	require.NoError(t, err)
	require.JSONEq(t, `{"entity":"Audit","set":"default","action":"create"}`, string(raw))
}
