package typegen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// Tools that would share a function have one each, as in the runtime (tests/test_values.py has the same tools).
func TestToolsThatWouldShareAFunction(t *testing.T) {
	t.Parallel()
	g := &generator{taken: map[string]bool{}}
	require.Equal(t, [][]string{{"weather_get"}, {"weather_get__2"}, {"list_all__2"}, {"list_all"}, {"listAll"}, {"findOne", "find_one"}}, g.functionsOf([]wire.Tool{
		{Name: "weather-get", Export: "weather_get"},
		{Name: "weather.get", Export: "weather_get__2"},
		{Name: "list-all", Export: "list_all__2"},
		{Name: "list_all", Export: "list_all"},
		{Name: "listAll", Export: "listAll"},
		{Name: "findOne", Export: "findOne"},
	}))
}
