package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExecute(t *testing.T) {
	h := newHost()
	r := execute(t, box(t), job(`const t = SDK.Entities.Todo.getById("1"); console.log("got", t); SDK.Out.answer(t.title); ({title: t.title})`), h)
	require.Nil(t, r.Fault)
	require.JSONEq(t, `{"title":"Milk"}`, string(r.Result))
	require.JSONEq(t, `"Milk"`, string(r.Answer))
	require.Equal(t, []string{`{"id":"1"}`}, h.inputs)
	if len(box(t).Missing()) == 0 {
		require.Equal(t, "process+seccomp+landlock+namespaces", box(t).Isolation())
	}
	require.Contains(t, box(t).Isolation(), "process+seccomp")
	t.Logf("%+v", r)
}
