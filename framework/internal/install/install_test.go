package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// bench is a home with the file of one client.
type bench struct {
	t       *testing.T
	client  client
	machine Machine
	env     map[string]string
	path    string
	options Options
}

var now = time.Date(2026, 11, 23, 7, 30, 0, 0, time.UTC)

func newBench(t *testing.T, id, text string) *bench {
	t.Helper()
	c, err := find(id)
	require.NoError(t, err)
	b := &bench{t: t, client: c, env: map[string]string{}}
	b.machine = Machine{OS: "linux", Home: t.TempDir(), Env: func(name string) string { return b.env[name] }}
	b.path = c.file(b.machine)
	require.NoError(t, os.MkdirAll(c.folder(b.machine), 0o755))
	if text != "" {
		b.write(text)
	}
	b.options = Options{
		Client: id, Machine: b.machine, Now: now, Check: func([]byte) error { return nil },
		Entry: Entry{Name: "todo", Command: "/opt/todo", Args: []string{"serve", "--config", "/srv/a \"b\"\\koan.yaml"}},
	}
	return b
}

func (b *bench) write(text string) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(b.path, []byte(text), 0o600))
}

func (b *bench) read() string {
	b.t.Helper()
	raw, err := os.ReadFile(b.path)
	require.NoError(b.t, err)
	return string(raw)
}

func (b *bench) run(change func(*Options)) (string, error) {
	b.t.Helper()
	o := b.options
	if change != nil {
		change(&o)
	}
	var out bytes.Buffer
	err := Run(o, &out)
	return out.String(), err
}

func (b *bench) must(change func(*Options)) string {
	b.t.Helper()
	out, err := b.run(change)
	require.NoError(b.t, err)
	return out
}

// server returns a server as the client reads it.
func (b *bench) server(name string) map[string]any {
	b.t.Helper()
	d, err := b.client.open([]byte(b.read()))
	require.NoError(b.t, err)
	for _, s := range d.servers() {
		if s.name == name {
			return s.value
		}
	}
	return nil
}

func (b *bench) names() (out []string) {
	b.t.Helper()
	d, err := b.client.open([]byte(b.read()))
	require.NoError(b.t, err)
	for _, s := range d.servers() {
		out = append(out, s.name)
	}
	return out
}

func sample(t *testing.T, id string) string {
	t.Helper()
	name := id + ".json"
	if id == "codex" {
		name = "codex.toml"
	}
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(raw)
}

func remove(o *Options) { o.Remove = true }

// Into the documented sample of each client, and out again, byte by byte.
func TestInstallAndRemove(t *testing.T) {
	for _, id := range Clients() {
		t.Run(id, func(t *testing.T) {
			was := sample(t, id)
			b := newBench(t, id, was)
			b.options.Entry.Env = nil
			out := b.must(func(o *Options) { o.Print = true })
			require.Contains(t, out, "+++")
			require.Equal(t, was, b.read(), "--print writes nothing")

			b.must(nil)
			s := b.server("todo")
			require.Equal(t, "/opt/todo", s["command"])
			require.Equal(t, []any{"serve", "--config", "/srv/a \"b\"\\koan.yaml"}, s["args"])
			once := b.read()
			require.Contains(t, b.must(nil), "Nothing to change")
			require.Equal(t, once, b.read())

			b.must(func(o *Options) { o.Entry.Args = []string{"serve"} })
			require.Equal(t, []any{"serve"}, b.server("todo")["args"])
			b.must(remove)
			require.Equal(t, was, b.read())
			require.Contains(t, b.must(remove), "Nothing to remove")

			copies, err := filepath.Glob(b.path + ".koan-20261123-073000*")
			require.NoError(t, err)
			require.Len(t, copies, 3, "no copy replaces another")
			first, err := os.ReadFile(b.path + ".koan-20261123-073000")
			require.NoError(t, err)
			require.Equal(t, was, string(first))
		})
	}
}

// A comment may be the end of a file: nothing needs to follow it.
func TestInstallIntoFileThatEndsInAComment(t *testing.T) {
	for _, id := range Clients() {
		if id == "codex" {
			continue // TOML
		}
		for _, end := range []string{"// the end", "\r\n// the end", "/* the end */", "//"} {
			was := sample(t, id) + end
			b := newBench(t, id, was)
			b.must(nil)
			require.Equal(t, "/opt/todo", b.server("todo")["command"], "%s %q", id, end)
			require.True(t, strings.HasSuffix(b.read(), end), "%s %q", id, end)
			b.must(remove)
			require.Equal(t, was, b.read())
		}
	}
}

// A client that has no servers yet.
func TestInstallIntoNewFile(t *testing.T) {
	for _, id := range Clients() {
		texts := []string{"", "{}", "{}\n", "\xef\xbb\xbf{}\r\n", "{\"a\":1}", "{\n\t\"a\": 1,\n}\n"}
		if id == "codex" {
			texts = []string{"", "\n", "a = 1", "a = 1\r\n", "# nothing\n\n"}
		}
		for _, text := range texts {
			b := newBench(t, id, text)
			b.must(nil)
			require.Equal(t, "/opt/todo", b.server("todo")["command"], "%s %q", id, text)
			require.Contains(t, b.must(nil), "Nothing to change")
			info, err := os.Stat(b.path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			out := b.must(remove)
			if text == "" {
				require.NoFileExists(t, b.path, "it was made for the entry alone")
				require.Contains(t, out, "Deleted, since it was made for this entry alone: "+b.path)
				continue
			}
			require.Equal(t, text, b.read(), id)
		}
	}
}

// What an installation has not made stays where it takes its entry out: a place for servers that was empty, and
// whatever came into the file meanwhile.
func TestRemoveLeavesWhatItHasNotMade(t *testing.T) {
	for _, id := range Clients() {
		if id == "codex" {
			continue // a server is a table of its own there
		}
		key := newBench(t, id, "").client.members
		for _, text := range []string{"{\"" + key + "\": {}}", "{\"a\": 1, \"" + key + "\": { }}\n", "{\n\t\"" + key + "\": {\n\t\t// none yet\n\t},\n}\n"} {
			b := newBench(t, id, text)
			b.must(nil)
			b.must(func(o *Options) { o.Entry.Args = []string{"serve"} })
			b.must(remove)
			was, err := decodeJSON([]byte(text))
			require.NoError(t, err)
			now, err := decodeJSON([]byte(b.read()))
			require.NoError(t, err)
			require.Equal(t, was, now, "%s %q", id, text)
		}
		b := newBench(t, id, "{}")
		b.must(nil)
		b.write(strings.Replace(b.read(), "{", "{\n  \"later\": true,", 1))
		b.must(remove)
		require.JSONEq(t, `{"later": true}`, b.read(), "what came meanwhile stays, and the empty list goes")

		b = newBench(t, id, "")
		b.must(nil)
		b.write(strings.Replace(b.read(), "{", "{\n  \"later\": true,", 1))
		b.must(remove)
		require.JSONEq(t, `{"later": true, "`+key+`": {}}`, b.read(), "nothing is known of it")

		b = newBench(t, id, "")
		b.must(nil)
		b.must(func(o *Options) { o.Entry.Name = "other" })
		b.must(remove)
		require.NotNil(t, b.server("other"))
	}
}

// A client that has not run yet has no folder.
func TestInstallBeforeTheFirstStart(t *testing.T) {
	for _, id := range Clients() {
		b := newBench(t, id, "")
		folder := b.client.folder(b.machine)
		if folder == b.machine.Home {
			continue
		}
		require.NoError(t, os.RemoveAll(folder))
		require.Contains(t, b.must(remove), "Nothing to remove")
		require.NoDirExists(t, folder)
		print := func(o *Options) { o.Print = true }
		require.Contains(t, b.must(print), "There is no "+folder+" yet: "+b.client.title)
		require.NoDirExists(t, folder)
		require.Contains(t, b.must(nil), "There is no "+folder+" yet")
		require.Equal(t, "/opt/todo", b.server("todo")["command"])
		b.must(remove)
		require.NoFileExists(t, b.path)
	}
}

// What the app's own code reads cannot come out of a configuration file, so a client that passes nothing
// on gets the entry, and the person is told what to add.
func TestVariablesOfTheAppsOwnCode(t *testing.T) {
	for _, id := range Clients() {
		b := newBench(t, id, "")
		b.options.Entry.Env, b.options.Entry.OwnEnv = []string{"SHOP_DB"}, []string{"SHOP_DB"}
		out := b.must(nil)
		require.Equal(t, "/opt/todo", b.server("todo")["command"], id)
		require.Contains(t, out, "SHOP_DB", id)
		if b.client.passes == "" && b.client.reference == "" {
			require.Contains(t, out, "into the entry's env", id)
			b.options.Entry.Env = append(b.options.Entry.Env, "KOAN_DATABASE")
			_, err := b.run(nil)
			require.ErrorContains(t, err, "the app needs KOAN_DATABASE")
			continue
		}
		require.Contains(t, b.read(), "SHOP_DB", id)
	}
}

// Every problem leaves the file as it was, says what is wrong, and how to go on.
func TestProblems(t *testing.T) {
	const was = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n"
	for name, c := range map[string]struct {
		text   string
		before func(b *bench)
		change func(o *Options)
		code   fault.Code
		says   string
	}{
		"damaged":          {text: "{\n \"mcpServers\": {,}\n}", code: fault.ParseError, says: "line 2"},
		"no object":        {text: "[1]", code: fault.ParseError, says: "not a JSON object"},
		"list":             {text: `{"mcpServers": []}`, code: fault.ParseError, says: "not an object"},
		"twice":            {text: `{"mcpServers": {}, "mcpServers": {}}`, code: fault.ParseError, says: "twice"},
		"server twice":     {text: `{"mcpServers": {"a": {}, "a": {}}}`, code: fault.ParseError, says: "twice"},
		"unknown":          {text: was, change: func(o *Options) { o.Client = "curser" }, code: fault.InvalidPayload, says: `did you mean "cursor"`},
		"nothing to move":  {text: `{"mcpServers": {}}`, change: gateway, code: fault.NotFound, says: "no servers"},
		"none can move":    {text: `{"mcpServers": {"a": {"command": "./x"}}}`, change: gateway, code: fault.CapabilityUnsupported, says: `a: its command "./x" depends`},
		"project, gateway": {text: was, change: func(o *Options) { o.Gateway, o.Dir = true, "/tmp" }, code: fault.InvalidPayload, says: "shared with others"},
		"read-only":        {text: was, before: func(b *bench) { require.NoError(b.t, os.Chmod(b.path, 0o400)) }, code: fault.Forbidden, says: "read-only"},
		"folder":           {before: func(b *bench) { require.NoError(b.t, os.Mkdir(b.path, 0o700)) }, code: fault.InvalidPayload, says: "not a regular file"},
		"dangling":         {before: func(b *bench) { require.NoError(b.t, os.Symlink("nowhere", b.path)) }, code: fault.NotFound, says: "a link to a file that is not there"},
		"store of another": {text: was, before: func(b *bench) {
			b.must(gateway)
			b.options.Entry.Name = "other"
		}, change: gateway, code: fault.Conflict, says: `behind "todo" already`},
		"damaged store": {text: was, before: func(b *bench) {
			b.must(gateway)
			require.NoError(b.t, os.WriteFile(b.machine.storePath(b.client), []byte("{"), 0o600))
		}, change: remove, code: fault.ParseError, says: "servers.json"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "cursor", c.text)
			if c.before != nil {
				c.before(b)
			}
			has, _ := os.ReadFile(b.path)
			_, err := b.run(c.change)
			require.Equal(t, c.code, fault.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.NotEmpty(t, fault.From(err).Hint)
			now, _ := os.ReadFile(b.path)
			require.Equal(t, string(has), string(now))
			strays, err := filepath.Glob(filepath.Join(filepath.Dir(b.path), ".mcp.json-*"))
			require.NoError(t, err)
			require.Empty(t, strays)
		})
	}
}

// Another program writes the file while a person is asked.
func TestChangedBetweenLookAndWrite(t *testing.T) {
	for _, change := range []func(*Options){nil, gateway} {
		b := newBench(t, "cursor", sample(t, "cursor"))
		b.options.Agree = func() (bool, error) {
			b.write(`{"mcpServers": {}}`)
			return true, nil
		}
		_, err := b.run(change)
		require.Equal(t, fault.Conflict, fault.CodeOf(err))
		require.Equal(t, `{"mcpServers": {}}`, b.read())
		require.NoFileExists(t, b.machine.storePath(b.client))
		copies, err := filepath.Glob(b.path + ".koan-*")
		require.NoError(t, err)
		require.Empty(t, copies)
	}
}

func TestRefusedByThePerson(t *testing.T) {
	b := newBench(t, "cursor", sample(t, "cursor"))
	b.options.Agree = func() (bool, error) { return false, nil }
	require.Contains(t, b.must(gateway), "Nothing was written.")
	require.Equal(t, sample(t, "cursor"), b.read())
	require.NoFileExists(t, b.machine.storePath(b.client))
}

// A link, as a folder of dotfiles has it, stays one.
func TestLinkStays(t *testing.T) {
	b := newBench(t, "cursor", "")
	real := filepath.Join(b.machine.Home, "dotfiles.json")
	require.NoError(t, os.WriteFile(real, []byte("{}\n"), 0o644))
	require.NoError(t, os.Symlink(real, b.path))
	require.Contains(t, b.must(nil), "is a link")
	info, err := os.Lstat(b.path)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(real)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	require.NotNil(t, b.server("todo"))
}

func TestProjectFiles(t *testing.T) {
	for _, id := range Clients() {
		b := newBench(t, id, "")
		dir := t.TempDir()
		_, err := b.run(func(o *Options) { o.Dir = dir })
		if b.client.project == "" {
			require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		b.path = filepath.Join(dir, filepath.FromSlash(b.client.project))
		require.Equal(t, "/opt/todo", b.server("todo")["command"])
	}
}

func TestURL(t *testing.T) {
	const url = "http://127.0.0.1:8080/mcp"
	for id, want := range map[string]map[string]any{
		"claude-code": {"type": "http", "url": url, "headers": map[string]any{"Authorization": "Bearer ${TOKEN}"}},
		"cursor":      {"url": url, "headers": map[string]any{"Authorization": "Bearer ${env:TOKEN}"}},
		"vscode":      {"type": "http", "url": url, "headers": map[string]any{"Authorization": "Bearer ${env:TOKEN}"}},
		"gemini":      {"httpUrl": url, "headers": map[string]any{"Authorization": "Bearer $TOKEN"}},
		"codex":       {"url": url, "bearer_token_env_var": "TOKEN"},
	} {
		b := newBench(t, id, sample(t, id))
		b.must(nil)
		b.must(func(o *Options) { o.Entry.URL, o.Entry.Token = url, "TOKEN" })
		require.Equal(t, want, b.server("todo"), "%s: the command is gone", id)
	}
	b := newBench(t, "claude-desktop", sample(t, "claude-desktop"))
	_, err := b.run(func(o *Options) { o.Entry.URL = url })
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	_, err = b.run(func(o *Options) { o.Entry.Env = []string{"KOAN_DATABASE"} })
	require.ErrorContains(t, err, "KOAN_DATABASE")
}

// Members that are the user's stay when an entry is written again.
func TestUpdateKeepsOtherMembers(t *testing.T) {
	for id, text := range map[string]string{
		"cursor": "{\"mcpServers\": {\n    \"todo\": { // mine\n      \"timeout\": 5, // patient\n      \"command\": \"/old/todo\"\n    }}}",
		"codex":  "[mcp_servers.todo] # mine\nenabled = true # yes\ncommand = '/old/todo' # was\n\n[mcp_servers.todo.env]\nA = \"1\"\n",
	} {
		b := newBench(t, id, text)
		b.must(nil)
		s := b.server("todo")
		require.Equal(t, "/opt/todo", s["command"])
		require.Len(t, s["args"], 3)
		for _, kept := range []string{"mine", "patient", "yes", "# was"} {
			require.Equal(t, strings.Contains(text, kept), strings.Contains(b.read(), kept), kept)
		}
		require.Len(t, s, map[string]int{"cursor": 3, "codex": 4}[id])
	}
}

func TestFilesOfEachSystem(t *testing.T) {
	for _, c := range []struct {
		os, client string
		env        map[string]string
		want       string
	}{
		{"linux", "claude-code", nil, "/home/ann/.claude.json"},
		{"linux", "claude-code", map[string]string{"CLAUDE_CONFIG_DIR": "/work/claude"}, "/work/claude/.claude.json"},
		{"darwin", "claude-desktop", nil, "/home/ann/Library/Application Support/Claude/claude_desktop_config.json"},
		{"linux", "claude-desktop", nil, "/home/ann/.config/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", map[string]string{"APPDATA": "/roaming"}, "/roaming/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", nil, "/home/ann/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"linux", "cursor", map[string]string{"XDG_CONFIG_HOME": "/cfg"}, "/home/ann/.cursor/mcp.json"},
		{"linux", "vscode", map[string]string{"XDG_CONFIG_HOME": "/cfg"}, "/cfg/Code/User/mcp.json"},
		{"darwin", "vscode", nil, "/home/ann/Library/Application Support/Code/User/mcp.json"},
		{"linux", "gemini", map[string]string{"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"},
		{"linux", "codex", nil, "/home/ann/.codex/config.toml"},
		{"windows", "codex", map[string]string{"CODEX_HOME": "/c"}, "/c/config.toml"},
	} {
		one, err := find(c.client)
		require.NoError(t, err)
		m := Machine{OS: c.os, Home: "/home/ann", Env: func(name string) string { return c.env[name] }}
		require.Equal(t, c.want, filepath.ToSlash(one.file(m)))
	}
}

func TestServerOfSomebodyElseWithTheSameName(t *testing.T) {
	for id, text := range map[string]string{
		"cursor": `{"mcpServers": {"todo": {"command": "/usr/bin/other"}, "b": {"command": "/bin/cat"}}}`,
		"codex":  "[mcp_servers.todo]\ncommand = \"/usr/bin/other\"\n\n[mcp_servers.b]\ncommand = \"/bin/cat\"\n",
	} {
		for name, change := range map[string]func(*Options){
			"install": nil,
			"gateway": func(o *Options) { o.Gateway = true },
			"remove":  func(o *Options) { o.Remove = true },
		} {
			t.Run(id+" "+name, func(t *testing.T) {
				b := newBench(t, id, text)
				_, err := b.run(change)
				require.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
				require.Contains(t, err.Error(), "/usr/bin/other")
				require.Equal(t, text, b.read())
			})
		}
		b := newBench(t, id, text)
		b.must(func(o *Options) { o.Entry.Name = "mine" })
		b.must(func(o *Options) { o.Entry.Name, o.Remove = "mine", true })
		require.Equal(t, text, b.read())
	}
	b := newBench(t, "cursor", `{"mcpServers": {"todo": {"command": "/older/todo"}}}`)
	b.must(nil)
	require.Equal(t, "/opt/todo", b.server("todo")["command"], "its own entry, of another folder")
}

func TestFileThatIsNotUTF8IsLeftAlone(t *testing.T) {
	for id, text := range map[string]string{
		"cursor": "{\"mcpServers\": {\"a\": {\"command\": \"/bin/caf\xe9\"}}}",
		"codex":  "# caf\xe9\n[mcp_servers.a]\ncommand = \"/bin/cat\"\n",
	} {
		b := newBench(t, id, text)
		_, err := b.run(func(o *Options) { o.Gateway = true })
		require.Equal(t, fault.ParseError, fault.CodeOf(err), "%v", err)
		require.Equal(t, text, b.read())
	}
}

func TestRemoveWritesNothingWhereNothingIsInstalled(t *testing.T) {
	for _, text := range []string{" \n", "{}", "{\"mcpServers\": {\"a\": {\"command\": \"/bin/cat\"}}}"} {
		b := newBench(t, "cursor", text)
		out := b.must(func(o *Options) { o.Remove = true })
		require.Contains(t, out, "Nothing to remove")
		require.Equal(t, text, b.read())
	}
}
