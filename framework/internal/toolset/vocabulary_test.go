package toolset

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestListsHaveWordsForTheVocabulary(t *testing.T) {
	require.ElementsMatch(t, catalog.EntityOperationNames(), slices.Collect(maps.Keys(verbs)))
	known := []string{"entity"}
	for op := range catalog.EntityOperations() {
		for _, name := range op.Inputs() {
			require.Less(t, place(name), len(parameters), name)
			known = append(known, name)
		}
	}
	for _, p := range parameters {
		require.Contains(t, known, p.name)
	}
}
