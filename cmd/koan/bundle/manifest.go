package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// tool is one of the manifest's list, which people see before they install.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// manifest is manifest.json in version 0.3, which Claude Desktop reads
// (github.com/modelcontextprotocol/mcpb, MANIFEST.md).
type manifest struct {
	ManifestVersion string             `json:"manifest_version"`
	Name            string             `json:"name"`
	Version         string             `json:"version"`
	Description     string             `json:"description"`
	Author          author             `json:"author"`
	Repository      *repository        `json:"repository,omitempty"`
	Server          server             `json:"server"`
	Tools           []tool             `json:"tools,omitempty"`
	ToolsGenerated  bool               `json:"tools_generated"`
	License         string             `json:"license,omitempty"`
	Compatibility   compatibility      `json:"compatibility"`
	UserConfig      map[string]setting `json:"user_config,omitempty"`
}

type author struct {
	Name string `json:"name"`
}

type repository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type server struct {
	Type       string  `json:"type"`
	EntryPoint string  `json:"entry_point"`
	Config     command `json:"mcp_config"`
}

type command struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

type compatibility struct {
	Platforms []string          `json:"platforms"`
	Runtimes  map[string]string `json:"runtimes,omitempty"` // of the machine, beside the binary
}

// runtimes are the versions of the interpreters that scripts need (CONTRACT section 3a), by the name of
// the language, which is that of the runtime too.
var runtimes = map[string]string{"python": ">=3.11", "node": ">=20"}

// setting is what the client asks the user for.
type setting struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Sensitive   bool   `json:"sensitive,omitempty"`
}

// maxToolText bounds a tool's description in the manifest, in characters. A model gets the
// whole one from the server.
const maxToolText = 200

func (a *app) manifest() ([]byte, error) {
	name := filepath.Base(a.Binary)
	m := manifest{
		ManifestVersion: "0.3", Name: a.Name, Version: a.Version, Description: a.About, Author: author{a.Author},
		ToolsGenerated: true, // what is listed depends on the client and on the configuration
		License:        a.License, Compatibility: compatibility{[]string{a.platform}, a.runtimes}, UserConfig: map[string]setting{},
		Server: server{Type: "binary", EntryPoint: "server/" + name, Config: command{
			Command: "${__dirname}/server/" + name, Args: slices.Clone(a.Serve), Env: map[string]string{},
		}},
	}
	if a.repo != "" {
		m.Repository = &repository{"git", "https://github.com/" + a.repo}
	}
	for _, t := range a.tools {
		m.Tools = append(m.Tools, tool{t.Name, firstLine(t.Description)})
	}
	run := &m.Server.Config
	if a.Config != "" {
		run.Args = append(run.Args, "--config", "${__dirname}/server/koan.yaml")
	}
	if a.Gateway {
		m.UserConfig["servers"] = setting{
			Type: "file", Title: "Servers", Required: true,
			Description: "The file with the MCP servers to put behind Koan, with mcpServers as in Claude's own file.",
		}
		run.Args = append(run.Args, "--mcp-config", "${user_config.servers}")
	} else if a.AskData {
		// Without a default: not every client replaces ${HOME} in one.
		m.UserConfig["data"] = setting{Type: "directory", Title: "Data", Description: "The folder for the data.", Required: true}
		run.Args = append(run.Args, "--database", "sqlite://${user_config.data}")
	}
	for _, name := range a.secrets {
		key := strings.ToLower(name)
		m.UserConfig[key] = setting{
			Type: "string", Title: name, Required: true, Sensitive: true,
			Description: fmt.Sprintf("The value of %s, which the configuration names.", name),
		}
		run.Env[name] = "${user_config." + key + "}"
	}
	return indented(m)
}

// firstLine is the beginning of a description.
func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(text); len(r) > maxToolText {
		return strings.TrimSpace(string(r[:maxToolText-1])) + "…"
	}
	return text
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
