package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/koan-go/koan/plugins/internal/reference"
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
	members, ok := servers.(map[string]any)
	if !ok {
		return json.Marshal(map[string]any{"mcpServers": servers})
	}
	var list bytes.Buffer
	list.WriteString(`{"mcpServers":{`)
	for i, name := range codexOrder(raw, members) {
		if i > 0 {
			list.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(members[name])
		if err != nil {
			return nil, err
		}
		list.Write(append(append(key, ':'), value...))
	}
	list.WriteString("}}")
	return list.Bytes(), nil
}

// codexOrder returns the names of servers in the order of the file: which of two entries has an id depends
// on it.
func codexOrder(raw []byte, servers map[string]any) (names []string) {
	add := func(path []string) {
		if len(path) > 1 && path[0] == codexServers && servers[path[1]] != nil && !slices.Contains(names, path[1]) {
			names = append(names, path[1])
		}
	}
	var p unstable.Parser
	p.Reset(raw)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keyPath(n)
			add(table)
		case unstable.KeyValue:
			path := append(slices.Clone(table), keyPath(n)...)
			add(path)
			if value := n.Value(); value.Kind == unstable.InlineTable {
				for each := value.Children(); each.Next(); {
					add(append(slices.Clone(path), keyPath(each.Node())...))
				}
			}
		default:
		}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) { // there is none left
		add([]string{codexServers, name})
	}
	return names
}

// keyPath returns the parts of the key of a table or a value.
func keyPath(n *unstable.Node) (path []string) {
	for key := n.Key(); key.Next(); {
		path = append(path, string(key.Node().Data))
	}
	return path
}

// codex reads what only Codex's entries have: variables that hold secrets, times in seconds, and a list of
// tools that may be empty.
func (r *entryReader) codex(c *Config) {
	if name := r.text("bearer_token_env_var"); name != "" {
		if _, err := reference.Environment(name); err != nil {
			r.problem("bearer_token_env_var: %w %q", err, name)
		}
		c.Headers = with(c.Headers, "Authorization", "Bearer ${env:"+name+"}")
	}
	for header, name := range r.texts("env_http_headers") {
		if _, err := reference.Environment(name); err != nil { // Codex leaves the header out
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
