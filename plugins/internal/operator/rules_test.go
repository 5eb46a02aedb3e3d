package operator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	c := Rules{Effects: map[string]string{"*": "destructive", "list_*": "read", "list_and_delete": "[write, idempotent]"}}
	for tool, want := range map[string][3]bool{"drop": {false, true, false}, "list_x": {true, false, true}, "list_and_delete": {false, false, true}} {
		e := c.EffectsOf(tool, func() catalog.Effects { t.Fatal("the configured effects go first"); return Unknown })
		require.Equal(t, want, [3]bool{e.ReadOnly, e.Destructive, e.Idempotent}, tool)
		require.True(t, e.Outside)
	}
	require.Equal(t, Unknown, (&Rules{}).EffectsOf("any", func() catalog.Effects { return catalog.Effects{ReadOnly: true} }))
	require.Equal(t, catalog.Effects{ReadOnly: true}, (&Rules{Trust: true}).EffectsOf("any", func() catalog.Effects { return catalog.Effects{ReadOnly: true} }))
	require.True(t, Match("a.*b", "a.xx/b"))
	require.False(t, Match("a.*b", "axb"))
}

func TestEffectsAreOneOrAList(t *testing.T) {
	t.Parallel()
	want, err := ParseEffects("write, idempotent")
	require.NoError(t, err)
	require.True(t, want.Idempotent && want.Outside && !want.ReadOnly)
	for _, list := range []string{`["write","idempotent"]`, "[write, idempotent]", "write idempotent"} { // a list in YAML comes as the first
		got, err := ParseEffects(list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	for _, wrong := range []string{"", "[]", `["write",5]`, `["read","destructive"]`, `["loud"]`} {
		_, err := ParseEffects(wrong)
		require.Error(t, err, wrong)
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	for _, both := range [][2]string{{"a", "a"}, {"a*", "ab"}, {"koan::Todo.*", "koan::*.patch"}, {"*", ""}, {"*x*", "*y*"}, {"a*b*c", "a*c"}} {
		require.True(t, Overlap(both[0], both[1]), both)
		require.True(t, Overlap(both[1], both[0]), both)
	}
	for _, neither := range [][2]string{{"a", "b"}, {"a*", "b*"}, {"*a", "*b"}, {"koan::Todo.*", "koan::User.*"}, {"", "a"}} {
		require.False(t, Overlap(neither[0], neither[1]), neither)
		require.False(t, Overlap(neither[1], neither[0]), neither)
	}
	require.False(t, Overlap(strings.Repeat("a*", 200)+"x", strings.Repeat("a*", 200)+"y"), "without taking for ever")
}
