package exposure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/koan-go/koan/framework/exposure"
)

func TestServer(t *testing.T) {
	cases := []struct {
		configured Mode
		packages   []Mode
		want       Mode
	}{
		{Auto, nil, Auto},
		{"", nil, Auto},
		{Code, []Mode{Tools}, Code},
		{Auto, []Mode{Tools, Code}, Tools},
		{Auto, []Mode{Auto, "", Full}, Full},
		{Tools, nil, Tools},
	}
	for _, c := range cases {
		require.Equal(t, c.want, Server(c.configured, c.packages...), "%v", c)
	}
}

func TestForClient(t *testing.T) {
	for _, c := range []struct {
		server Mode
		client Client
		want   Mode
	}{
		{Auto, Unknown, Full},
		{Auto, Understands, Code},
		{Auto, LegacyClient, Tools},
		{"", Unknown, Full},
		{Code, LegacyClient, Code},
		{Tools, Understands, Tools},
		{Full, Understands, Full},
	} {
		require.Equal(t, c.want, ForClient(c.server, c.client), "%v", c)
	}
}

// TestEntityTable is the whole decision table: mode x annotation, without and
// with a package default.
func TestEntityTable(t *testing.T) {
	neither, listed, scripted, both := Offer{}, Offer{Listed: true}, Offer{Scripted: true}, Offer{Listed: true, Scripted: true}
	table := map[Mode]map[Mode]Offer{
		Code:  {"": scripted, Auto: scripted, Code: scripted, Tools: listed, Full: both},
		Tools: {"": listed, Auto: listed, Code: neither, Tools: listed, Full: listed},
		Full:  {"": both, Auto: both, Code: scripted, Tools: listed, Full: both},
	}
	for mode, row := range table {
		for annotation, want := range row {
			require.Equal(t, want, Entity(mode, annotation, "", true), "mode %s, annotation %q", mode, annotation)
			require.Equal(t, want, Entity(mode, annotation, "", false), "mode %s, annotation %q", mode, annotation)
		}
		for _, d := range []Mode{Code, Tools, Full} {
			require.Equal(t, row[d], Entity(mode, "", d, true), "a package default counts where the server is auto")
			require.Equal(t, row[""], Entity(mode, "", d, false), "and nowhere else")
			require.Equal(t, row[Full], Entity(mode, Full, d, true), "the entity's own annotation is stronger")
		}
	}
	require.True(t, CodeTools(Code))
	require.True(t, CodeTools(Full))
	require.False(t, CodeTools(Tools))
	require.True(t, Unreachable(Tools, Code))
	require.False(t, Unreachable(Full, Code))
	require.False(t, Unreachable(Tools, Full))
}

func TestParse(t *testing.T) {
	for in, want := range map[string]Mode{"": Auto, "auto": Auto, "code": Code, "tools": Tools, "full": Full} {
		got, err := Parse(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := Parse("Code")
	require.ErrorContains(t, err, "auto, code, tools or full")
}
