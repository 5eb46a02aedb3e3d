package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
)

// pasting is a folder with a gateway over the server of a small database, and a person's shell.
type pasting struct {
	t               *testing.T
	dir, elsewhere  string
	program, ledger string
}

func newPasting(t *testing.T) *pasting {
	t.Helper()
	home, err := os.MkdirTemp("", "koan") // t.TempDir has a name so long that it is redacted
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	p := &pasting{t: t, dir: filepath.Join(home, "it's here"), elsewhere: t.TempDir(), program: filepath.Join(t.TempDir(), "koan"), ledger: "sqlite://kept"}
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, p.program)) // by whose name TestMain knows that this is koan
	require.NoError(t, os.Mkdir(p.dir, 0o700))
	db := sqlitedriver.Open("file:" + filepath.Join(p.dir, "shop.db"))
	_, err = db.Exec("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO customer VALUES (1, 'Ann')")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"shop": map[string]any{
		"command": p.program, "args": []string{"serve", "--database", "sqlite:" + filepath.Join(p.dir, "shop.db")}, "env": map[string]string{"XDG_DATA_HOME": filepath.Join(p.dir, "shop")},
	}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "servers.json"), servers, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "count.js"), []byte(counts), 0o600))
	return p
}

// counts calls a server that nobody trusts, which a person has to approve.
const counts = `SDK.Out.answer(SDK.Servers.shop.customer_count({}).count)`

func (p *pasting) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + p.elsewhere, "PATH=" + filepath.Dir(p.program) + ":/usr/bin:/bin"}
	return cmd
}

// paste types the command of a hint into a shell, and returns what it prints.
func (p *pasting) paste(dir, hint string) string {
	p.t.Helper()
	typed := regexp.MustCompile("`([^`]+)`").FindStringSubmatch(hint)
	require.NotNil(p.t, typed, hint)
	cmd := p.command(dir, "/bin/sh", "-c", typed[1]+" --yes")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(p.t, cmd.Run(), "%s\n%s%s", typed[1], out.String(), errs.String())
	return out.String()
}

// Whoever copies the command of a hint reaches the plan, though it is kept where a flag says.
func TestTheHintOfARunReachesItsPlan(t *testing.T) {
	t.Parallel()
	p := newPasting(t)
	cmd := p.command(p.dir, p.program, "gateway", "run", "count.js", "--mcp-config", "servers.json", "--ledger.database", p.ledger)
	out, err := cmd.Output()
	require.Error(t, err)
	var run struct {
		PlanID string `json:"plan_id"`
		Result struct{ Error struct{ Hint string } }
	}
	require.NoError(t, json.Unmarshal(out, &run), string(out))
	require.Contains(t, run.Result.Error.Hint, "`koan gateway approve "+run.PlanID+" --ledger.database sqlite://kept --mcp-config servers.json`")
	require.Contains(t, p.paste(p.dir, run.Result.Error.Hint), `"answer":1`)
}

// A gateway that a client started is reached from any folder, without its environment.
func TestTheHintOfAServerReachesItsPlan(t *testing.T) {
	t.Parallel()
	p := newPasting(t)
	cmd := p.command(p.dir, p.program, "gateway", "--mcp-config", "servers.json")
	cmd.Env = append(cmd.Env, "KOAN_LEDGER_DATABASE="+p.ledger)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{"name": "koan_code_execute", "arguments": map[string]string{"code": counts}}})
	require.NoError(t, err)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"client","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`+string(call)+"\n")
	require.NoError(t, err)
	var raw json.RawMessage
	for lines := bufio.NewScanner(out); raw == nil && lines.Scan(); {
		var message struct {
			ID     any
			Result struct{ StructuredContent json.RawMessage }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &message))
		if message.ID == 2.0 {
			raw = message.Result.StructuredContent
		}
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	var answer struct{ Error struct{ Code, Hint string } }
	require.NoError(t, json.Unmarshal(raw, &answer))
	require.Equal(t, "approval_required", answer.Error.Code, string(raw))
	require.Contains(t, answer.Error.Hint, "KOAN_LEDGER_DATABASE=sqlite://kept")
	require.Contains(t, p.paste(p.elsewhere, answer.Error.Hint), `"answer":1`)
}
