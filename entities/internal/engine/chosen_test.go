package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
)

// copies is a job that copies each todo named src-* to an id and a title that it chooses.
func copies(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
	raw, err := call("koan::Todo.collection", `{"filter":{"title":{"$startsWith":"src-"}},"sort":"title"}`)
	if err != nil {
		return "", err
	}
	var page struct{ Items []struct{ Title string } }
	if err := json.Unmarshal([]byte(raw), &page); err != nil {
		return "", err
	}
	for _, one := range page.Items {
		name := strings.TrimPrefix(one.Title, "src-")
		b, _ := json.Marshal(map[string]any{"model": map[string]any{"id": "copy-" + name, "title": "dst-" + name}})
		if _, err := call("koan::Todo.upsert", string(b)); err != nil {
			return "", err
		}
	}
	return "copied", nil
}

// What a run chooses is not replaced by what an earlier attempt chose at the same place,
// when the data have changed in between: only what was generated comes from the tape.
func TestPlanKeepsChosenIDsApart(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPlanKeepsChosenIDsApart) {
		return
	}
	place := place(t)
	free, o := newProcess(t, place, &world{}, once.Options{}), newDesk(t, place, &world{}, asksWrites, map[string]job{"copies": copies})
	for _, name := range []string{"b", "c"} {
		free.call("Todo.upsert", `{"model":{"id":"`+name+`","title":"src-`+name+`"}}`)
	}
	id := o.plan("copies")
	free.call("Todo.upsert", `{"model":{"id":"a","title":"src-a"}}`)
	_, outcome, err := o.approve(id, boss)
	next := o.planned(outcome, err)
	_, _, err = o.approve(next, boss)
	require.NoError(t, err)
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, "dst-"+name, free.call("Todo.get-by-id", `{"id":"copy-`+name+`"}`)["title"])
	}
}
