package records

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// The generator refuses entities of an app that would have these names.
func TestNamesAreTaken(t *testing.T) {
	for _, k := range Entities(nil).Kinds {
		require.True(t, catalog.IsReserved(k.Type), k.Type)
	}
	require.False(t, catalog.IsReserved("Run"))
}
