package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/programs"
	"github.com/koan-go/koan/tests/soak"
)

// The official client, `koan gateway` and npm's server-everything, each a process of its own.
func TestQuestionsOfAServerReachTheClientOfTheGateway(t *testing.T) {
	soak.Proof(t)
	needs.Node(t)
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, map[string]string{"koan": "cmd/koan"}))
	program := filepath.Join(dir, "koan")
	index, err := filepath.Abs("../npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	require.NoError(t, err)
	command, err := json.Marshal([]string{"node", index, "stdio"})
	require.NoError(t, err)
	args := func() []string {
		return []string{"gateway", "--database", "sqlite://" + t.TempDir(), "--upstreams.everything.command", string(command), "--upstreams.everything.maxParallel", "1", "--log.level", "error"}
	}
	env := []string{"HOME=" + t.TempDir()}
	t.Run("stdio", func(t *testing.T) {
		checkQuestionsThroughGateway(t, env, append([]string{program}, args()...)...)
	})
	t.Run("http", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), program, append(args(), "--http", "127.0.0.1:0", "--log.level", "info")...)
		cmd.Dir, cmd.Env = t.TempDir(), append(cmd.Environ(), env...)
		messages, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		address := ""
		for lines := bufio.NewScanner(messages); address == "" && lines.Scan(); {
			address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`).FindString(lines.Text())
		}
		require.NotEmpty(t, address)
		go func() { _, _ = io.Copy(io.Discard, messages) }() // until it ends
		checkQuestionsThroughGateway(t, nil, address)
	})
}

func checkQuestionsThroughGateway(t *testing.T, env []string, server ...string) {
	t.Helper()
	out := node(t, env, append([]string{"../npm/gateway.mjs"}, server...)...)
	type answer struct {
		IsError bool
		Body    struct {
			Result json.RawMessage
			Error  executionFailure
		}
	}
	var seen struct {
		Tools []string
		Asked []struct {
			Approval bool
			Message  string
			Fields   []string
		}
		Sampled                                 []string
		Answered, Declined, Denied, Model, Mute answer
	}
	require.NoError(t, json.Unmarshal(out, &seen), string(out))
	require.Contains(t, seen.Tools, "koan_code_execute")
	require.NotContains(t, seen.Tools, "everything_echo")

	// Each call is approved before the server gets to ask; a denied one asks nothing more.
	var approvals []bool
	for _, q := range seen.Asked {
		approvals = append(approvals, q.Approval)
	}
	require.Equal(t, []bool{true, false, true, false, true, true}, approvals, "%s", out)
	require.Contains(t, seen.Asked[0].Message, "wants to call everything.trigger-elicitation-request")
	require.Contains(t, seen.Asked[1].Message, "everything")
	require.Contains(t, seen.Asked[1].Message, "Please provide inputs for the following fields:")
	require.Contains(t, seen.Asked[1].Fields, "email")
	require.False(t, seen.Answered.IsError, "%s", out)
	require.Contains(t, string(seen.Answered.Body.Result), "ann@example.org")
	require.False(t, seen.Declined.IsError)
	require.NotContains(t, string(seen.Declined.Body.Result), "ann@example.org")
	require.Contains(t, string(seen.Declined.Body.Result), "declined")
	require.Equal(t, string(fault.ApprovalDenied), seen.Denied.Body.Error.Code)
	require.False(t, seen.Model.IsError, "%s", out)
	require.Contains(t, string(seen.Model.Body.Result), "a haiku")
	require.Len(t, seen.Sampled, 1)
	require.Contains(t, seen.Sampled[0], "everything")
	require.Equal(t, string(fault.ApprovalRequired), seen.Mute.Body.Error.Code)
}
