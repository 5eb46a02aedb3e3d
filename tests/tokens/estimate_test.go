package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/servers"
)

// What `upstream check` says of the lists of public servers is near to what a real
// tokenizer counts.
func TestEstimatedTokens(t *testing.T) {
	t.Parallel()
	c, err := newCounter()
	require.NoError(t, err)
	for _, s := range servers.All(t) {
		list, err := json.Marshal(map[string]any{"tools": s.Tools})
		require.NoError(t, err)
		exact, err := c.count(list)
		require.NoError(t, err)
		require.InEpsilon(t, exact, catalog.EstimateTokens(len(list)), 0.1, s.Name)
	}
}
