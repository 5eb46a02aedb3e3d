package e2e

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// The app of the conformance suites has tools that ask.
func askingApp(t *testing.T) *app {
	a := newApp(t)
	a.env = []string{asFixture + "=", asConformance + "=1"}
	return a
}

func TestTypeScriptClientIsAsked(t *testing.T) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		cmd := askingApp(t).command(t.Context(), "serve", "--server.toolNames", "underscore")
		checkAsked(t, cmd.Env, cmd.Args...)
	})
	t.Run("http", func(t *testing.T) {
		checkAsked(t, nil, askingApp(t).web("--server.toolNames", "underscore").url)
	})
}

// checkAsked runs the session of tests/npm/asking.mjs with a server, and checks what
// the client saw.
func checkAsked(t *testing.T, env []string, server ...string) {
	t.Helper()
	out := node(t, env, append([]string{"../npm/asking.mjs"}, server...)...)
	type answer struct {
		IsError bool
		Text    string
	}
	var seen struct {
		Accepted, Declined, Sampled, Roots, Several answer
		Prompt                                      string
		Cancelled, Withdrawn                        bool
		Refused                                     struct {
			IsError bool
			Code    string
		}
	}
	require.NoError(t, json.Unmarshal(out, &seen), string(out))
	require.Equal(t, answer{Text: `User response: action=accept, content={"username":"ann","email":"ann@example.org"}`}, seen.Accepted)
	require.Equal(t, answer{Text: "User response: action=decline, content="}, seen.Declined)
	require.Equal(t, answer{Text: "LLM response: You said hello"}, seen.Sampled)
	require.Equal(t, answer{Text: "[{file:///work work}]"}, seen.Roots)
	require.Contains(t, seen.Several.Text, "Ann")
	require.Contains(t, seen.Several.Text, "You said Generate a greeting")
	require.Contains(t, seen.Several.Text, "file:///work")
	require.Contains(t, seen.Prompt, "tests")
	require.True(t, seen.Cancelled)
	require.True(t, seen.Withdrawn, "the client heard that nobody waits for its answer")
	require.True(t, seen.Refused.IsError)
	require.Equal(t, string(fault.CapabilityUnsupported), seen.Refused.Code)
}
