package codemode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/typescript"
)

// What the description of koan.code.execute shows has no type error in a strict editor: its example beside the
// declarations that stand there, as far as there is room for them, and beside those of the whole SDK.
func TestDescriptionPassesStrictTypes(t *testing.T) {
	var groups []map[string]string
	var names []string
	alone := 0
	for _, entities := range []int{0, 1, 40, 200} {
		for _, budget := range []int{0, 600, 4000, 16000, 100_000} {
			h := newHouse(t, map[string]any{"codeMode.inlineTypesBytes": budget})
			h.crowd(entities)
			text := h.description()
			_, rest, _ := strings.Cut(text, "```js\n")
			example, _, found := strings.Cut(rest, "```")
			require.True(t, found)
			add := func(what, declarations string) {
				groups = append(groups, map[string]string{"sdk.d.ts": declarations, "example.js": example})
				names = append(names, fmt.Sprintf("%d entities, %d bytes, %s", entities, budget, what))
			}
			if _, rest, declared := strings.Cut(text, "```ts\n"); declared {
				declarations, _, _ := strings.Cut(rest, "```")
				add("alone", declarations)
				alone++
			}
			if budget == 16000 {
				add("with the whole SDK", typescript.Declarations(t, h.view))
			}
		}
	}
	require.Greater(t, alone, 5)
	for i, found := range typescript.CheckEach(t, groups...) {
		require.Empty(t, found, names[i])
	}
}
