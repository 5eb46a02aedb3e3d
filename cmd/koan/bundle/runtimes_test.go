package bundle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A client says before it installs a bundle what the machine lacks for its scripts.
func TestRuntimesOfAConfiguration(t *testing.T) {
	for config, want := range map[string]map[string]string{
		"":                                      {},
		"upstreams: {}\n":                       {},
		"codeMode: { maxSdkCalls: 5 }":          {},
		"codeMode: { languages: [javascript] }": {},
		"codeMode: { languages: [javascript, python] }":       {"python": ">=3.11"},
		"codeMode:\n  languages: python,node # a text\n":      {"python": ">=3.11", "node": ">=20"},
		"codeMode:\n  languages:\n    - node\n    - python\n": {"python": ">=3.11", "node": ">=20"},
	} {
		got, err := runtimesOf([]byte(config))
		require.NoError(t, err, config)
		require.Equal(t, want, got, config)
	}
	_, err := runtimesOf([]byte("codeMode: ["))
	require.Error(t, err)
}
