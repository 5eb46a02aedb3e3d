// Package install writes an app into the configuration files of MCP clients, moves a
// client's own servers behind the app, and takes both back.
//
// What belongs here: where clients keep their files, how an entry is written there, and
// edits that leave everything else in a file as it was. Not here: how an app is
// configured, and how it reaches other servers; both are handed in.
package install

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// client is one MCP client, as its own documentation describes its files.
type client struct {
	id    string // on the command line
	title string
	// members is where servers stand in the file: "mcpServers", "servers", "mcp_servers".
	members string
	toml    bool
	// file returns the user's own file, and folder the one that the client makes when it
	// is first started.
	file, folder func(m Machine) string
	project      string // the file in a project, slash-separated; "" where there is none
	kind         bool   // an entry says what kind it is, in `type`
	url          string // the member for a server over Streamable HTTP; "" where the file has none
	reference    string // how a value names an environment variable, with NAME; "" where none can
	// passes lists variables by name, in place of references.
	passes string
	// bearer is the member that names the variable with a bearer token, in place of a header.
	bearer string
	// resolved matches the references in the client's values, and shared those of them
	// that Koan replaces in the same way.
	resolved, shared *regexp.Regexp
}

var (
	braces = regexp.MustCompile(`\$\{[^{}]*\}`)
	// dollars are those of Gemini CLI, which needs no braces.
	dollars = regexp.MustCompile(`\$(?:\{[^{}]*\}|[A-Za-z_][A-Za-z0-9_]*)`)
	plain   = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^{}]*)?\}$`)
	prefix  = regexp.MustCompile(`^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}$`)
	bare    = regexp.MustCompile(`^\$\{?[A-Za-z_][A-Za-z0-9_]*\}?$`)
	none    = regexp.MustCompile(`^$.`)
)

// clients are those that can be installed into, with the sources of what stands here (all
// as of November 2026):
// code.claude.com/docs/en/mcp and /settings, modelcontextprotocol.io/docs/develop/connect-local-servers,
// cursor.com/docs/context/mcp, code.visualstudio.com/docs/copilot/reference/mcp-configuration,
// geminicli.com/docs/tools/mcp-server, developers.openai.com/codex/mcp.
var clients = []client{
	{
		id: "claude-code", title: "Claude Code", members: "mcpServers", project: ".mcp.json",
		file: func(m Machine) string {
			return filepath.Join(m.either("CLAUDE_CONFIG_DIR", m.Home), ".claude.json")
		},
		folder: func(m Machine) string { return m.either("CLAUDE_CONFIG_DIR", filepath.Join(m.Home, ".claude")) },
		kind:   true, url: "url", reference: "${NAME}", resolved: braces, shared: plain,
	},
	{
		id: "claude-desktop", title: "Claude Desktop", members: "mcpServers",
		file: func(m Machine) string {
			return filepath.Join(m.programs("Claude"), "claude_desktop_config.json")
		},
		folder: func(m Machine) string { return m.programs("Claude") },
		// It replaces nothing in its values, so that Koan must not either.
		resolved: braces, shared: none,
	},
	{
		id: "cursor", title: "Cursor", members: "mcpServers", project: ".cursor/mcp.json",
		file:   func(m Machine) string { return filepath.Join(m.Home, ".cursor", "mcp.json") },
		folder: func(m Machine) string { return filepath.Join(m.Home, ".cursor") },
		url:    "url", reference: "${env:NAME}", resolved: braces, shared: prefix,
	},
	{
		id: "vscode", title: "VS Code", members: "servers", project: ".vscode/mcp.json",
		file:   func(m Machine) string { return filepath.Join(m.programs("Code"), "User", "mcp.json") },
		folder: func(m Machine) string { return filepath.Join(m.programs("Code"), "User") },
		kind:   true, url: "url", reference: "${env:NAME}", resolved: braces, shared: prefix,
	},
	{
		id: "gemini", title: "Gemini CLI", members: "mcpServers", project: ".gemini/settings.json",
		file: func(m Machine) string {
			return filepath.Join(m.either("GEMINI_CLI_HOME", m.Home), ".gemini", "settings.json")
		},
		folder: func(m Machine) string { return filepath.Join(m.either("GEMINI_CLI_HOME", m.Home), ".gemini") },
		url:    "httpUrl", reference: "$NAME", resolved: dollars, shared: bare,
	},
	{
		id: "codex", title: "Codex", members: "mcp_servers", toml: true, project: ".codex/config.toml",
		file: func(m Machine) string {
			return filepath.Join(m.either("CODEX_HOME", filepath.Join(m.Home, ".codex")), "config.toml")
		},
		folder: func(m Machine) string { return m.either("CODEX_HOME", filepath.Join(m.Home, ".codex")) },
		url:    "url", passes: "env_vars", bearer: "bearer_token_env_var", resolved: braces, shared: none,
	},
}

// Clients are the ids of the clients that can be installed into.
func Clients() []string {
	var out []string
	for _, c := range clients {
		out = append(out, c.id)
	}
	return out
}

func find(id string) (client, error) {
	i := slices.IndexFunc(clients, func(c client) bool { return c.id == id })
	if i < 0 {
		return client{}, fault.Newf(fault.InvalidPayload, "there is no client %q%s", id, fault.DidYouMean(id, Clients())).
			WithHint("Name one of %s. Other clients: docs/howto/mcp.md says what to write into their files.", strings.Join(Clients(), ", "))
	}
	return clients[i], nil
}

// CheckClient reports why a name on the command line is no client's.
func CheckClient(id string) error {
	_, err := find(id)
	return err
}

// Machine is where files lie.
type Machine struct {
	OS   string // as runtime.GOOS
	Home string
	Env  func(name string) string
}

// either returns the folder that a variable names, else another one.
func (m Machine) either(variable, other string) string {
	if v := m.Env(variable); v != "" {
		return v
	}
	return other
}

// settings is where the user's programs keep their settings.
func (m Machine) settings() string {
	switch m.OS {
	case "windows":
		return m.either("APPDATA", filepath.Join(m.Home, "AppData", "Roaming"))
	case "darwin":
		return filepath.Join(m.Home, "Library", "Application Support")
	}
	return m.either("XDG_CONFIG_HOME", filepath.Join(m.Home, ".config"))
}

// programs is the folder of one program there.
func (m Machine) programs(name string) string { return filepath.Join(m.settings(), name) }
