package callers

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStdoutIsMachineReadable runs every command, well and badly, and reads
// its output as a strict program does: protocol for serve, one line of JSON for what
// gives JSON, and nothing where there is nothing to give. What people read is on
// standard error.
func TestStdoutIsMachineReadable(t *testing.T) {
	t.Parallel()
	nothing := func(t *testing.T, out string) { require.Empty(t, out) }
	line := func(t *testing.T, out string) {
		require.Equal(t, 1, strings.Count(out, "\n"), out)
		require.True(t, strings.HasSuffix(out, "\n") && json.Valid([]byte(out)), out)
	}
	lines := func(t *testing.T, out string) {
		for _, l := range strings.SplitAfter(out, "\n") {
			if l != "" {
				line(t, l)
			}
		}
	}
	protocol := func(t *testing.T, out string) {
		require.NotEmpty(t, out)
		for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
			var m struct{ JSONRPC string }
			require.NoError(t, json.Unmarshal([]byte(l), &m), l)
			require.Equal(t, "2.0", m.JSONRPC, l)
		}
	}
	text := func(t *testing.T, out string) { require.NotEmpty(t, out) }
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	const noisy = `console.log('to the log'); console.error('and there'); SDK.Out.info('info'); 1`
	call := func(tool, arguments string) string {
		return hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}` + "\n"
	}
	for name, c := range map[string]struct {
		args   []string
		stdin  string
		status int
		want   func(*testing.T, string)
	}{
		"serve":                    {[]string{"serve"}, hello, 0, protocol},
		"serve, debugging":         {[]string{"serve", "--log.level", "debug"}, call("koan.code.execute", `{"code":"`+noisy+`"}`), 0, protocol},
		"serve, a failing script":  {[]string{"serve"}, call("koan.code.execute", `{"code":"null.x"}`), 0, protocol},
		"serve, a script too big":  {[]string{"serve", "--sandbox.maxCodeLength", "1"}, call("koan.code.execute", `{"code":"12"}`), 0, protocol},
		"serve, out of memory":     {[]string{"serve", "--sandbox.memoryMb", "32"}, call("koan.code.execute", `{"code":"const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)"}`), 0, protocol},
		"serve, bad arguments":     {[]string{"serve"}, call("event.upsert", `{"model":7}`), 0, protocol},
		"serve, unknown tool":      {[]string{"serve"}, call("no.tool", `{}`), 0, protocol},
		"serve, broken lines":      {[]string{"serve"}, "{\n[]\nnull\n\xff\n\"\n{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":7}\n" + hello, 0, protocol},
		"serve, a line too long":   {[]string{"serve", "--server.maxBufferBytes", "4096"}, strings.Repeat("x", 10000) + "\n" + hello, 0, protocol},
		"serve, nobody there":      {[]string{"serve"}, "", 0, nothing},
		"serve, wrong key":         {[]string{"serve", "--server.queueMacks", "1"}, hello, 2, nothing},
		"serve, no database":       {[]string{"serve", "--database", "sqlite:///dev/null/x"}, hello, 1, nothing},
		"serve, a mode that fails": {[]string{"serve", "--exposure", "code", "--codeMode.enabled", "false"}, hello, 1, nothing},
		"serve, too many words":    {[]string{"serve", "now"}, hello, 2, nothing},
		"serve, no issuer":         {[]string{"serve", "--http", ":0", "--server.oauth.issuer", "x"}, "", 2, nothing},
		"run":                      {[]string{"run", "-"}, noisy, 0, line},
		"run, debugging":           {[]string{"run", "-", "--log.level", "debug"}, noisy, 0, line},
		"run, failing":             {[]string{"run", "-"}, "null.x", 1, line},
		"run, not parsing":         {[]string{"run", "-"}, "((", 1, line},
		"run, empty":               {[]string{"run", "-"}, "", 1, line},
		"run, no set":              {[]string{"run", "-", "--set", "nowhere"}, "SDK.Entities.Event.count()", 1, line},
		"run, no file":             {[]string{"run", "none.js"}, "", 2, nothing},
		"run, bad arguments":       {[]string{"run", "-", "--args", "{"}, "1", 2, nothing},
		"run, no argument":         {[]string{"run"}, "", 2, nothing},
		"validate":                 {[]string{"validate", "-"}, "SDK.Entities.Event.count()", 0, line},
		"validate, not valid":      {[]string{"validate", "-"}, "SDK.Entities.Evnt.count()", 1, line},
		"validate, no file":        {[]string{"validate", "none.js"}, "", 2, nothing},
		"sdk":                      {[]string{"sdk"}, "", 0, text},
		"tools":                    {[]string{"tools"}, "", 0, lines},
		"tools, no mode":           {[]string{"tools", "--mode", "loud"}, "", 2, nothing},
		"keys":                     {[]string{"keys"}, "", 0, text},
		"approve, no plan":         {[]string{"approve", "none", "--yes"}, "", 1, nothing},
		"approve, nobody to ask":   {[]string{"approve", "none"}, "", 2, nothing},
		"replay, no run":           {[]string{"replay", "none"}, "", 2, nothing},
		"migrate":                  {[]string{"migrate"}, "", 2, nothing},
		"migrate status":           {[]string{"migrate", "status"}, "", 0, text},
		"migrate apply":            {[]string{"migrate", "apply"}, "", 0, text},
		"doctor":                   {[]string{"doctor"}, "", 0, text},
		"doctor, wrong key":        {[]string{"doctor", "--sandbox.memoryMb", "lots"}, "", 2, nothing},
		"no command":               {nil, "", 2, nothing},
		"unknown command":          {[]string{"severe"}, "", 2, nothing},
		"unknown flag":             {[]string{"run", "-", "--dri-run"}, "1", 2, nothing},
		"help":                     {[]string{"--help"}, "", 0, text},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, t.TempDir(), c.args...)
			var out, errs bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), &out, &errs
			err := cmd.Run()
			if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
				require.NoError(t, err)
			}
			require.Equal(t, c.status, cmd.ProcessState.ExitCode(), "%s%s", &out, &errs)
			c.want(t, out.String())
		})
	}
}
