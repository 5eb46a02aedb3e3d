package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/portable"
	"github.com/koan-go/koan/tests/soak"
)

// newNode returns the path of the Node that npm installs, newer than Debian's: some
// packages need it.
func newNode(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../npm/node_modules/node/bin/node")
	require.NoError(t, err)
	needs.Node(t)
	return path
}

// Clients that people use list the tools, call one, and report a failure: both lines of
// the official client, in both protocol eras, and libraries that sit before a model.
func TestClientsListAndCall(t *testing.T) {
	t.Parallel()
	web := newApp(t).web()
	for _, c := range []struct {
		client      string
		stdio, http bool
	}{
		{"client-legacy", true, true},
		{"client-modern", true, true},
		{"sdk", true, false}, // over HTTP: TestTypeScriptClient
		{"remote", false, true},
		{"ai", true, true},
		{"langchain", true, true},
		{"mcporter", true, false},
	} {
		visit := func(t *testing.T, env []string, server ...string) {
			out := runNode(t, newNode(t), env, append([]string{"../npm/visit.mjs", c.client}, server...)...)
			var seen struct {
				Tools  []string
				Count  int
				Failed string
			}
			require.NoError(t, json.Unmarshal(out, &seen), "%s", out)
			require.Contains(t, seen.Tools, "entities_count")
			require.Contains(t, seen.Tools, "koan_code_execute")
			require.Len(t, seen.Tools, 18)
			require.Equal(t, 1, seen.Count)
			require.Equal(t, string(fault.InvalidPayload), seen.Failed)
		}
		if c.stdio {
			t.Run(c.client+", stdio", func(t *testing.T) {
				cmd := newApp(t).command(t.Context(), "serve")
				visit(t, append(slices.Clone(cmd.Env), "HOME="+t.TempDir()), cmd.Args...)
			})
		}
		if c.http {
			t.Run(c.client+", http", func(t *testing.T) { visit(t, []string{"HOME=" + t.TempDir()}, web.url) })
		}
	}
}

// The lists of the fixture and of PantryPal keep the rules of all clients, in every
// style, mode and face.
func TestListsArePortable(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	a := newApp(t)
	pantryData := t.TempDir()
	commands := map[string]func(args ...string) result{
		"fixture": func(args ...string) result { return a.exec("", append([]string{"tools"}, args...)...) },
		"pantrypal": func(args ...string) result {
			cmd := exec.CommandContext(t.Context(), filepath.Join(pantryBin(t), "pantrypal"), append([]string{"tools", "--database", "sqlite://" + pantryData}, args...)...)
			var out, errs bytes.Buffer
			cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &errs
			_ = cmd.Run()
			return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
		},
	}
	code := []string{"koan_code_execute", "codemode_run"}
	for app, tools := range commands {
		for _, style := range []string{"auto", "generic", "perEntity"} {
			for _, mode := range []string{"code", "tools", "full"} {
				for _, outputs := range []string{"auto", "always"} {
					r := tools("--mode", mode, "--tools.style", style, "--tools.outputSchemas", outputs, "--codeMode.faces", "[koan, codemode]")
					require.Zero(t, r.status, r.stderr)
					list, err := portable.Read([]byte(r.stdout))
					require.NoError(t, err)
					require.NotEmpty(t, list)
					if style != "perEntity" {
						require.LessOrEqual(t, len(list), 40)
						require.LessOrEqual(t, len(r.stdout), 40_000, "%s %s %s", app, style, mode)
					}
					for len(list) > 0 { // perEntity lists more tools than some clients accept
						n := min(len(list), portable.MaxTools)
						require.Empty(t, portable.Problems(list[:n], code...), "%s %s %s", app, style, mode)
						list = list[n:]
					}
				}
			}
		}
	}
}

// Texts that clients cut start with what matters.
func TestDescriptionsLeadWithEssentials(t *testing.T) {
	t.Parallel()
	p := servePantry(t, t.TempDir(), "--codeMode.faces", "[koan, codemode]")
	m := p.call("initialize", input{"protocolVersion": "2025-11-25", "capabilities": input{}, "clientInfo": input{"name": "x", "version": "1"}})
	var hello struct{ Instructions string }
	require.NoError(t, json.Unmarshal(m.Result, &hello))
	require.LessOrEqual(t, len(hello.Instructions), 1900)
	require.Contains(t, hello.Instructions, "koan_code_execute", "spelled as in the list")
	require.NotContains(t, hello.Instructions, "koan.code")
	tools, err := portable.Read(p.call("tools/list", input{}).Result)
	require.NoError(t, err)
	for _, tool := range tools {
		if tool.Name == "koan_code_execute" {
			first := tool.Description[:min(1900, len(tool.Description))]
			for _, part := range []string{"SDK.Out.answer(page.items)", "SDK.Entities: ", "koan_code_search", "Filter: {"} {
				require.Contains(t, first, part)
			}
		}
	}
}
