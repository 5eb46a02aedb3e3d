package add

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChosenSchemasCanBeCreated(t *testing.T) {
	g := &graph{all: []string{"Order", "Customer", "Tag"}, exposable: []string{"Order", "Customer", "Tag"}, needs: map[string][]string{"Order": {"Customer"}}}
	_, err := g.choose([]string{"Order", "Tag"})
	require.EqualError(t, err, "--expose: Order: nobody could create one without Customer, which it requires: expose that too")
	chosen, err := g.choose([]string{"Order", "Customer"})
	require.NoError(t, err)
	require.Equal(t, []string{"Order", "Customer"}, chosen)
	g.exposed, g.exposable = []string{"Customer"}, []string{"Order", "Tag"}
	_, err = g.choose([]string{"Order"})
	require.NoError(t, err)
}
