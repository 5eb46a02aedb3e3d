package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// codexServers is the table of Codex's file that has its servers.
const codexServers = "mcp_servers"

// codexAsJSON returns the servers of Codex's config.toml as other clients write theirs.
func codexAsJSON(raw []byte) ([]byte, error) {
	var file map[string]any
	if err := toml.Unmarshal(raw, &file); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "toml: "))
	}
	servers, there := file[codexServers]
	if !there {
		return nil, fmt.Errorf("it has no `%s`", codexServers)
	}
	return json.Marshal(map[string]any{"mcpServers": servers})
}

// codex reads what only Codex's entries have: variables that hold secrets, times in seconds, and a list of
// tools that may be empty.
func (r *entryReader) codex(c *Config) {
	if name := r.text("bearer_token_env_var"); name != "" {
		if _, err := environment(name); err != nil {
			r.problem("bearer_token_env_var: %w %q", err, name)
		}
		c.Headers = with(c.Headers, "Authorization", "Bearer ${env:"+name+"}")
	}
	for header, name := range r.texts("env_http_headers") {
		if _, err := environment(name); err != nil { // Codex leaves the header out
			c.notes = append(c.notes, plainText("env_http_headers."+header, 50)+" (the environment has no "+plainText(name, 50)+")")
			continue
		}
		c.Headers = with(c.Headers, header, "${env:"+name+"}")
	}
	if _, value := r.member("env_vars"); len(value) > 0 {
		var names []string
		if json.Unmarshal(value, &names) != nil { // tables, which say where a variable comes from
			c.notes = append(c.notes, "env_vars")
		}
		for _, name := range names {
			_, own := c.Env[name]
			if _, set := os.LookupEnv(name); set && !own {
				c.Env = with(c.Env, name, "${env:"+name+"}")
			}
		}
	}
	if _, value := r.member("enabled_tools"); string(value) == "[]" {
		c.Deny = append(c.Deny, "*")
	}
	c.Timeout = max(c.Timeout, r.seconds("tool_timeout_sec"))
	c.Start = max(r.seconds("startup_timeout_sec"), r.timeout("startup_timeout_ms"))
}

// seconds reads a time in seconds.
func (r *entryReader) seconds(name string) time.Duration {
	var n float64
	if !r.read(&n, name) {
		return 0
	}
	const most = 24 * 60 * 60
	if n <= 0 || n > most {
		r.problem("%s must be a number of seconds above 0 and up to %d", name, most)
		return 0
	}
	return time.Duration(n * float64(time.Second))
}
