package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// parsed is what keys alone configure.
func parsed(keys map[string]string) ([]Config, error) {
	out, err := parseKeys(keys)
	joined, more := join(out, nil)
	return joined, errors.Join(err, more)
}

func TestKeysDescribeServers(t *testing.T) {
	t.Parallel()
	got, err := parsed(map[string]string{
		"github.command": `["npx","-y","server github"]`, "github.env.TOKEN": "${env:TOKEN}", "github.cwd": "/srv", "github.maxparallel": "3",
		"linear.url": "https://mcp.linear.app/mcp", "linear.headers.Authorization": "Bearer ${env:LINEAR}", "linear.tools.allow": "[issue_*, team_list]", "linear.tools.deny": "issue_delete",
		"linear.trust": "true", "linear.effects.list_*": "read", "linear.timeoutMs": "500", "linear.transport": "sse",
	})
	require.NoError(t, err)
	require.Equal(t, []Config{
		{ID: "github", Command: []string{"npx", "-y", "server github"}, Env: map[string]string{"TOKEN": "${env:TOKEN}"}, Dir: "/srv", rules: rules{MaxParallel: 3, Timeout: time.Minute}, Start: time.Minute, Place: "upstreams.github"},
		{
			ID: "linear", URL: "https://mcp.linear.app/mcp", Transport: "sse", Headers: map[string]string{"Authorization": "Bearer ${env:LINEAR}"}, Start: time.Minute,
			rules: rules{Allow: []string{"issue_*", "team_list"}, Deny: []string{"issue_delete"}, Trust: true, Effects: map[string]string{"list_*": "read"}, Timeout: 500 * time.Millisecond, MaxParallel: 8}, Place: "upstreams.linear",
		},
	}, got)
}

func TestKeysReportAllProblems(t *testing.T) {
	t.Parallel()
	_, err := parsed(map[string]string{
		"a.comand": "x", "a.url": "ftp://x", "b.command": "x", "b.url": "https://x", "c.timeoutMs": "soon", "d": "x", "e.url": "https://x", "e.effects.x": "loud", "f b.command": "x", "g.command": "x", "g.transport": "sse",
		"h.command": "[]", "i.command": "", "i.url": "https://x",
	})
	for _, want := range []string{
		`upstreams.a.comand is not a key of a server; did you mean "command"?`, "upstreams.a.url must be one of http or https", "upstreams.b: has both a command and a url",
		"upstreams.c.timeoutMs must be a whole number", "upstreams.c: has neither a command nor a url", "upstreams.d wants keys of a server below it",
		`upstreams.e.effects.x must be some of read, write, destructive and idempotent, not "loud"`, "upstreams.f b: a server's name has letters", "upstreams.g: a transport goes with a url",
		"upstreams.h.command must name the program to start", "upstreams.i.command must name the program to start",
	} {
		require.ErrorContains(t, err, want)
	}
	for _, twice := range []string{"upstreams.a: ", "upstreams.h: ", "upstreams.i: "} {
		require.NotContains(t, err.Error(), twice, "it is named once")
	}
}

func TestClientFiles(t *testing.T) {
	t.Parallel()
	got, err := parseClientFile("mcp.json", []byte(`{
		// as VS Code writes it
		"servers": {
			"my server": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"A": "b", "N": 5}, "cwd": "/srv"},
			"remote": {"type": "http", "url": "https://example.org/mcp", "headers": {"X-Key": "${KEY:-none}"}, "timeout": 5000},
			"old": {"type": "sse", "url": "https://example.org/sse"},
			"off": {"command": "x", "disabled": true},
		},
	}`))
	require.NoError(t, err)
	require.Len(t, got, 4)
	require.Equal(t, "mcp.json: off is switched off (disabled: true)", got[3].off)
	require.Equal(t, "my-server", got[0].ID)
	require.Equal(t, []string{"npx", "-y", "x"}, got[0].Command)
	require.Equal(t, map[string]string{"A": "b", "N": "5"}, got[0].Env)
	require.Equal(t, 5*time.Second, got[1].Timeout)
	require.Equal(t, "sse", got[2].Transport)

	for text, problem := range map[string]string{
		"": "mcp.json: it is empty", " \n": "it is empty", `{`: "mcp.json", `{"other": {}}`: "neither `mcpServers` nor `servers`", `{"mcpServers": {"a": 5}}`: "mcp.json: a: it must be an object, not a number",
		`[]`: "mcp.json: it must be an object, not an array", `{"mcpServers": []}`: "mcpServers must be an object, not an array", `{"mcpServers": {"a": {"command": 5}}}`: "a: command must be a string, not a number",
		`{"mcpServers": {"a": {"command": "x", "args": "y"}}}`: "a: args must be a list, not a string", `{"mcpServers": {"a": {"command": "x", "disabled": "no"}}}`: "disabled must be true or false",
		`{"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "y"}}}`: "\"a\" is in both `mcpServers` and `servers`: the first is used", `{"mcpServers": {"a": null}}`: "a: it must be an object, not null",
		`{"mcpServers": {"a": {"command": "x", "env": {"A": []}}}}`: "env.A must be a text", `{"mcpServers": {"a": {"command": "x", "type": "carrier pigeon"}}}`: `the type "carrier pigeon" is unknown`,
	} {
		_, err := parseClientFile("mcp.json", []byte(text))
		require.ErrorContains(t, err, problem, text)
	}
}

// A comment may be the end of a file: nothing needs to follow it.
func TestClientFilesThatEndInAComment(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"// the end", "\n// the end", "//", "/* the end */", ""} {
		got, err := parseClientFile("mcp.json", []byte(`{"mcpServers": {"a": {"command": "x"}}} `+end))
		require.NoError(t, err, end)
		require.Len(t, got, 1, end)
	}
}

// What clients write is followed as they mean it, and an entry that is wrong costs nothing but itself.
func TestEntriesOfClients(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]Config{
		`{"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "b"}}`:                              {Command: []string{"npx", "-y", "x"}, Env: map[string]string{"A": "b"}},
		`{"command": "x", "args": ["--port", 5, true], "env": {"A": null}}`:                                        {Command: []string{"x", "--port", "5", "true"}},
		`{"httpUrl": "https://x/mcp", "headers": {"N": 5}}`:                                                        {URL: "https://x/mcp", Headers: map[string]string{"N": "5"}},
		`{"serverUrl": "https://x/mcp", "type": "streamable_http"}`:                                                {URL: "https://x/mcp"},
		`{"url": "https://x/mcp", "type": "remote", "enabled": true}`:                                              {URL: "https://x/mcp"},
		`{"type": "SSE", "url": "https://x/sse"}`:                                                                  {URL: "https://x/sse", Transport: "sse"},
		`{"command": "x", "excludeTools": ["a"], "disabledTools": ["b"], "disabled_tools": ["c"]}`:                 {Command: []string{"x"}, rules: rules{Deny: []string{"a", "b", "c"}}},
		`{"command": "x", "includeTools": ["a"], "tools": {"d": {"enabled": false}, "e": false, "f": {}}}`:         {Command: []string{"x"}, rules: rules{Allow: []string{"a"}, Deny: []string{"d", "e"}}},
		`{"command": "x", "tools": ["*"], "timeout": 60}`:                                                          {Command: []string{"x"}, rules: rules{Allow: []string{"*"}, Timeout: time.Minute}},
		`{"command": "x", "autoApprove": ["a"], "alwaysAllow": ["b"], "trust": true, "description": "is ignored"}`: {Command: []string{"x"}, notes: []string{"alwaysAllow", "autoApprove", "trust"}},
		`{"command": "x", "envFile": ".env"}`:                                                                      {Command: []string{"x"}, EnvFile: "/home/ann/.env"},
	} {
		got, err := parseClientFile("/home/ann/mcp.json", []byte(`{"mcpServers": {"a": `+entry+`, "off": {"command": "x", "enabled": false}, "out": {"command": "x", "disabled": true}, "bad": null, "z": {"command": "z"}}}`))
		require.ErrorContains(t, err, "bad: it must be an object, not null", entry)
		want.ID, want.name, want.Place, want.client = "a", "a", "/home/ann/mcp.json: a", true
		require.Equal(t, want, got[0], entry)
		got, off := apart(got)
		require.Len(t, off, 2)
		require.Len(t, got, 3)
		require.Equal(t, []string{"z"}, got[2].Command)
	}
}

// Codex's file is followed in what it says and in what it switches off.
func TestServersOfCodex(t *testing.T) {
	t.Setenv("KOAN_TEST_TOKEN", "secret-of-the-test")
	got, err := parseClientFile("/home/ann/.codex/config.toml", []byte(`
model = "gpt" # what is not about servers is left alone

[mcp_servers.files]
command = "npx"
args = ["-y", "x"]
cwd = "/srv"
env_vars = ["KOAN_TEST_TOKEN", "KOAN_TEST_NONE"]
startup_timeout_sec = 90
tool_timeout_sec = 2.5
enabled_tools = ["a", "b"]
disabled_tools = ["b"]
default_tools_approval_mode = "approve"
[mcp_servers.files.env]
A = "b"

[mcp_servers.linear]
url = "https://x/mcp"
bearer_token_env_var = "KOAN_TEST_TOKEN"
http_headers = { "X-Plain" = "p" }
env_http_headers = { "X-Secret" = "KOAN_TEST_TOKEN", "X-None" = "KOAN_TEST_NONE" }
enabled_tools = []

[mcp_servers.off]
command = "x"
enabled = false

[mcp_servers.lacks]
url = "https://x/mcp"
bearer_token_env_var = "KOAN_TEST_NONE"
`))
	require.EqualError(t, err, `/home/ann/.codex/config.toml: lacks: bearer_token_env_var: the environment has no such variable "KOAN_TEST_NONE"`)
	got, off := apart(got)
	require.Equal(t, "/home/ann/.codex/config.toml: off is switched off (enabled: false)", off[0].off)
	require.Len(t, got, 3)
	require.Equal(t, Config{
		ID: "files", name: "files", Place: "/home/ann/.codex/config.toml: files", client: true, Command: []string{"npx", "-y", "x"}, Dir: "/srv", Env: map[string]string{"A": "b", "KOAN_TEST_TOKEN": "${env:KOAN_TEST_TOKEN}"},
		Start: 90 * time.Second, rules: rules{Timeout: 2500 * time.Millisecond, Allow: []string{"a", "b"}, Deny: []string{"b"}}, notes: []string{"default_tools_approval_mode"},
	}, got[0])
	require.NotNil(t, got[2].wrong, "and the others start")
	linear := got[1]
	require.Equal(t, []string{"*"}, linear.Deny, "a list of none allows none")
	require.Equal(t, []string{"env_http_headers.X-None (the environment has no KOAN_TEST_NONE)"}, linear.notes)
	r, err := linear.resolve()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer secret-of-the-test", "X-Plain": "p", "X-Secret": "secret-of-the-test"}, r.headers)
	require.NotContains(t, r.secrets.redact("it said secret-of-the-test"), "secret-of")

	for text, problem := range map[string]string{
		"": "it is empty", "model = 1": "it has no `mcp_servers`", "a = ": "config.toml: ", "mcp_servers = 5": "mcpServers must be an object", "[mcp_servers.a]\ncommand = 5": "a: command must be a string",
		"[mcp_servers.a]\ncommand = \"x\"\ntool_timeout_sec = -1": "a: tool_timeout_sec must be a number of seconds above 0",
	} {
		_, err := parseClientFile("config.toml", []byte(text))
		require.ErrorContains(t, err, problem, text)
	}
}

// The file of a project knows the project's folder; any other names what only its editor knows.
func TestWorkspaceOfAProject(t *testing.T) {
	t.Parallel()
	text := []byte(`{"servers": {"a": {"command": "${workspaceFolder}/run", "args": ["${workspaceFolderBasename}"], "cwd": "${workspaceFolder}", "env": {"KEY": "${input:key}"}}}}`)
	got, err := parseClientFile("/srv/shop/.vscode/mcp.json", text)
	require.NoError(t, err)
	joined, err := join([]Config{{ID: "a", rules: rules{Trust: true}}}, got)
	require.NoError(t, err)
	r, err := joined[0].resolve()
	require.EqualError(t, err, "${input:key}: editors fill this in themselves, and it has no value here")
	require.Equal(t, []string{"/srv/shop/run", "shop"}, r.command)
	require.Equal(t, "/srv/shop", r.dir)
	require.Equal(t, "in /srv/shop", r.secrets.redact("in /srv/shop"), "which is no secret")
	for _, path := range []string{"/srv/shop/mcp.json", "/home/ann/.cursor/mcp.json", "/srv/.vscode/settings.json"} {
		got, err := parseClientFile(path, text)
		require.NoError(t, err)
		_, err = got[0].resolve()
		require.ErrorContains(t, err, "${workspaceFolder}: editors fill this in themselves", path)
	}
}

func TestServersOfProjects(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	got, err := parseClientFile(".claude.json", []byte(`{"mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}}, "projects": {
		"/other": {"mcpServers": {"a": {"command": "other"}, "c": {"command": "other"}, "d": {"command": "other"}}, "disabledMcpServers": ["d"]}, "`+here+`": {"mcpServers": {"a": {"command": "here"}}}, "/none": {}}}`))
	require.ErrorContains(t, err, "projects./other.a is left out, since there is another one of this name")
	var commands []string
	got, off := apart(got)
	require.Equal(t, ".claude.json: projects./other.d is switched off (disabledMcpServers of the project)", off[0].off)
	for _, c := range got {
		commands = append(commands, c.ID+" "+c.Command[0])
	}
	require.Equal(t, []string{"a here", "b user", "c other"}, commands)
	got, err = parseClientFile(".claude.json", []byte(`{"projects": {"/other": {"mcpServers": {"a": {"command": "x"}}}}}`))
	require.NoError(t, err)
	require.Len(t, got, 1)
}

// A server's own variables come before those of this program, and what has no value stays.
func TestVariablesOfEntries(t *testing.T) {
	t.Setenv("KOAN_TEST_TOKEN", "of-the-program")
	file := filepath.Join(t.TempDir(), ".env")
	require.NoError(t, os.WriteFile(file, []byte("# a comment\nexport FROM_FILE='of the file'\nAUTH=of-the-file\n"), 0o600))
	c := Config{
		client: true, EnvFile: file, Command: []string{"mcp-remote", "--header", "Authorization:${AUTH}", "${FROM_FILE} ${KOAN_TEST_NONE} ${env:KOAN_TEST_NONE} ${KOAN_TEST_TOKEN}"},
		Env: map[string]string{"AUTH": "Bearer ${TOKEN}", "TOKEN": "of-the-entry", "KOAN_TEST_TOKEN": "${KOAN_TEST_TOKEN}, and more", "LOOP": "${POOL}", "POOL": "${LOOP}"},
	}
	r, err := c.resolve()
	require.NoError(t, err)
	require.Equal(t, []string{"mcp-remote", "--header", "Authorization:Bearer of-the-entry", "of the file ${KOAN_TEST_NONE} ${env:KOAN_TEST_NONE} of-the-program, and more"}, r.command)
	require.Equal(t, map[string]string{"AUTH": "Bearer of-the-entry", "FROM_FILE": "of the file", "KOAN_TEST_TOKEN": "of-the-program, and more", "LOOP": "${LOOP}", "POOL": "${POOL}", "TOKEN": "of-the-entry"}, r.env)
	_, err = (&Config{EnvFile: file + ".none"}).resolve()
	require.ErrorContains(t, err, "its envFile cannot be read")
}

// values are settings as a test sets them.
type values struct {
	catalog.Values
	file string
	keys map[string]string
}

func (v values) String(string) string { return v.file }

func (v values) Under(string) map[string]string { return v.keys }

func TestAllProblemsOfKeysAndFileTogether(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers": {
		"a": {"args": ["x"]}, "b": {"command": [5]}, "c": "s", "d": {"command": "x", "url": "https://x", "type": "pigeon", "timeout": -1, "env": {"A": [], "B": {}}}}}`), 0o600))
	v := values{file: file, keys: map[string]string{"b.effects.x": "read", "c.trust": "true", "e.url": "https://x", "e.command": "x", "f.trust": "maybe"}}
	together := []string{
		"a: has neither a command nor a url", "b: command must be a string", "c: it must be an object", "d: has both a command and a url", `d: the type "pigeon" is unknown`,
		"d: timeout must be", "d: env.A must be a text", "d: env.B must be a text", "upstreams.e: has both a command and a url", "upstreams.f: has neither a command nor a url",
	}
	got, err := readConfigs(v)
	require.ErrorContains(t, err, "upstreams.f.trust must be true or false")
	inFile := 0
	for _, want := range together {
		if !strings.HasPrefix(want, "upstreams.") { // it is left out, and the others start
			inFile++
			require.True(t, slices.ContainsFunc(got, func(c Config) bool { return c.wrong != nil && strings.Contains(c.wrong.Error(), want) }), want)
			continue
		}
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, checkTogether(v), want)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), len(together)-inFile+1, "%v", err)
	_, err = readConfigs(values{file: file + ".none", keys: v.keys})
	require.ErrorContains(t, err, "no such file")
	require.NotContains(t, err.Error(), "upstreams.b", "what the file may have is not missed")
}

func TestClientFilesLoseNoServer(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`:                 `mcp.json: "a" is there twice`,
		`{"mcpServers": {"a": {"command": "x", "env": {"A": "1", "B": "2", "A": "3"}}}}`: `mcp.json: "A" is there twice`,
		`{"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "y"}}}`:    `"a" is in both`,
	} {
		_, err := parseClientFile("mcp.json", []byte(file))
		require.ErrorContains(t, err, want)
	}
	both, err := parseClientFile("mcp.json", []byte("\ufeff"+`{"mcpServers": {"a": {"command": "x", "args": ["a", "a"]}}, "servers": {"b": {"command": "y"}}}`))
	require.NoError(t, err)
	require.Len(t, both, 2)
}

func TestKeysExtendClientFile(t *testing.T) {
	t.Parallel()
	file := []Config{{ID: "a", Command: []string{"x"}, Env: map[string]string{"A": "1"}, Place: "mcp.json: a"}}
	keys, err := parseKeys(map[string]string{"a.effects.list_*": "read", "a.env.B": "2", "b.url": "https://b"})
	require.NoError(t, err)
	got, err := join(keys, file)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, []string{"x"}, got[0].Command)
	require.Equal(t, map[string]string{"A": "1", "B": "2"}, got[0].Env)
	require.Equal(t, map[string]string{"list_*": "read"}, got[0].Effects)

	keys, err = parseKeys(map[string]string{"a.url": "https://a"})
	require.NoError(t, err)
	_, err = join(keys, file)
	require.ErrorContains(t, err, `two servers are called "a": mcp.json: a and upstreams.a`)
	got, err = join(nil, []Config{{ID: "c", Place: "mcp.json: c", client: true}})
	require.NoError(t, err)
	require.ErrorContains(t, got[0].wrong, "mcp.json: c: has neither a command nor a url")
}

func TestSecretReferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("from-a-file\n"), 0o600))
	t.Setenv("KOAN_TEST_TOKEN", "hunter2-hunter2")
	c := Config{URL: "https://example.org", Headers: map[string]string{"Authorization": "Bearer ${env:KOAN_TEST_TOKEN}", "A": "${file:" + file + "}", "B": "${KOAN_TEST_TOKEN}", "C": "${KOAN_TEST_NONE:-plain}"}}
	r, err := c.resolve()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer hunter2-hunter2", "A": "from-a-file", "B": "hunter2-hunter2", "C": "plain"}, r.headers)
	require.Equal(t, "the token [redacted] and [redacted]", r.secrets.redact("the token hunter2-hunter2 and from-a-file"))

	for _, ref := range []string{"${env:KOAN_TEST_NONE}", "${KOAN_TEST_NONE}", "${input:key}", "${file:/does/not/exist}", "${file:/dev/zero}"} {
		c := Config{URL: ref}
		_, err := c.resolve()
		require.ErrorContains(t, err, ref)
	}
}

// Most files of clients have secrets in them.
func TestSecretsThatAreWrittenOut(t *testing.T) {
	t.Parallel()
	c := Config{
		URL: "https://ann:pass-of-ann@example.org/mcp?key=of-the-query", Headers: map[string]string{"Authorization": "Bearer of-a-bearer", "X-Api-Key": "of-a-header", "Accept": "text/plain"},
		Env: map[string]string{"GITHUB_TOKEN": "of-github", "PGPASSWORD": "of-postgres", "MODE": "production"},
	}
	r, err := c.resolve()
	require.NoError(t, err)
	require.Equal(t, "[redacted] [redacted] [redacted] [redacted] [redacted] [redacted] text/plain production",
		r.secrets.redact("pass-of-ann of-the-query of-a-bearer of-a-header of-github of-postgres text/plain production"))
	_, shown := c.shown()
	require.Equal(t, "https://ann:[redacted]@example.org/mcp?key=[redacted]", shown)
	_, shown = (&Config{URL: "https://example.org/${env:PATH}"}).shown()
	require.Equal(t, "https://example.org/${env:PATH}", shown)

	c = Config{Command: []string{"npx", "server", "--api-key", "of-a-flag", "of-the-environment"}, Env: map[string]string{"API_KEY": "of-the-environment"}}
	r, err = c.resolve()
	require.NoError(t, err)
	require.Equal(t, "[redacted] [redacted]", r.secrets.redact("of-a-flag of-the-environment"))
	command, _ := c.shown()
	require.Equal(t, []string{"npx", "server", "--api-key", "[redacted]", "[redacted]"}, command)
}

func FuzzClientFile(f *testing.F) {
	for _, s := range []string{`{"mcpServers":{"a":{"command":"x","args":["y"]}}}`, `{"servers":{"a":{"url":"https://x",},},} // c`, `{"mcpServers":{"a":{"timeout":1e400}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parseClientFile("f", raw)
		if err != nil {
			return
		}
		for _, c := range got {
			require.True(t, len(c.Command) == 0 || c.Command[0] != "")
		}
	})
}

// withoutFiles is a call of an app that keeps no files.
type withoutFiles struct{ catalog.Call }

func (withoutFiles) Invoke(context.Context, catalog.ID, json.RawMessage) (json.RawMessage, error) {
	return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no files")
}

func FuzzResult(f *testing.F) {
	for _, s := range []string{`{"content":[{"type":"text","text":"1"}]}`, `{"structuredContent":5}`, `{"isError":true,"content":[{}]}`, `{"content":[1]}`, `{"content":[{"type":"image"}]}`} {
		f.Add([]byte(s))
	}
	s := &server{results: results{faults: faults{cfg: Config{ID: "x"}}}}
	conn := &connection{dialer: &dialer{cfg: &s.cfg}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := s.result(t.Context(), conn, &request{tool: "t", call: withoutFiles{}}, raw)
		if err == nil {
			require.True(t, json.Valid(out), "%s", out)
		}
	})
}

func FuzzListing(f *testing.F) {
	for _, s := range []string{`{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"é::"}`, `{"name":"a","inputSchema":{"$ref":"#/x"}}`, `{"name":"::"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &server{results: results{faults: faults{cfg: Config{ID: "x"}}}}
		for _, op := range newOffer(s, &listing{Tools: []json.RawMessage{raw, raw}}).operations {
			require.True(t, op.ID.Valid(), "%q", op.ID.Op)
			require.True(t, json.Valid(op.Input))
		}
	})
}

// A key of a server that nothing configures names the one that was probably meant.
func TestMisspeltServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers": {"shop": {"command": "x"}}}`), 0o600))
	_, err := readConfigs(values{file: file, keys: map[string]string{"shopp.trust": "true"}})
	require.ErrorContains(t, err, `upstreams.shopp: has neither a command nor a url; did you mean "shop"?`)
}
