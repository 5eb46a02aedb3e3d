package catalogue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCatalogueLoads(t *testing.T) {
	c, err := Load()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(c.Foods), 40)
}
