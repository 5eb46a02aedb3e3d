package files

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

var detect = catalog.PluginID("vision", "detect")

func TestExpand(t *testing.T) {
	p := Provide(func() string { return "" })
	_, err := p.Expand(t.Context(), ann, detect, []byte(`{"a":{"$file":"file_x"}}`))
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	s := open(t, 100)
	p.store.Store(s)
	f := put(t, s, "default", "hello")
	ref := `{"$file":"` + f.ID + `"}`
	for _, c := range []struct{ name, in, out string }{
		{"as a member", `{"base64":` + ref + `,"n":1.0}`, `{"base64":"aGVsbG8=","n":1.0}`},
		{"in a list", `{"all":[` + ref + `,` + ref + `]}`, `{"all":["aGVsbG8=","aGVsbG8="]}`},
		{"with another member", `{"a":{"$file":"` + f.ID + `","b":1}}`, ""},
		{"not a text", `{"a":{"$file":1}}`, ""},
		{"none", `{"a":1}`, ""},
	} {
		out, err := p.Expand(t.Context(), ann, detect, []byte(c.in))
		require.NoError(t, err, c.name)
		if c.out == "" {
			require.Nil(t, out, c.name)
			continue
		}
		require.JSONEq(t, c.out, string(out), c.name)
	}
	_, err = p.Expand(t.Context(), bob, detect, []byte(`{"list":[{"a/b":`+ref+`}]}`))
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	require.Equal(t, "/list/0/a~1b/$file", fault.From(err).Path)
	out, err := p.Expand(t.Context(), ann, catalog.EntityID("Todo", "upsert"), []byte(`{"a":`+ref+`}`))
	require.NoError(t, err)
	require.Nil(t, out, "rows keep the reference")
}

func TestIdsAreFoundInJSON(t *testing.T) {
	id := newID()
	n := &named{}
	n.note([]byte(`{"a":"`+id+`","b":"file_`+strings.Repeat("z", 32)+`","c":"file_file_`+id[5:]+`"}`), &n.ids)
	require.Equal(t, map[string]bool{id: true}, n.ids)
}
