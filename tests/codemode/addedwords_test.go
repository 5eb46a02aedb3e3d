package codemode

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// The words that TestSoakAddedWords (make soak) adds to the vocabulary.
const (
	addedOperator  = "$matching"
	addedOperation = "tally"
)

var added = flag.String("added", "", "words that the vocabulary has besides its own")

func TestVocabularyHasAddedWords(t *testing.T) {
	t.Parallel()
	known := catalog.EntityOperationNames()
	for op := range catalog.FilterOperators() {
		known = append(known, op.Name)
	}
	for _, word := range []string{addedOperator, addedOperation} {
		require.Equal(t, strings.Contains(*added, word), slices.Contains(known, word), word)
	}
}
