package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/operator"
)

// unfollowed are keys of clients' entries that say nothing about the server itself.
var unfollowed = []string{"description", "name", "title", "icon", "iconUrl", "tags", "category", "version", "homepage", "source", "author", "koan", "gallery", "$schema", "note", "comment"}

// entryReader reads one server as Claude, Cursor, VS Code, Gemini CLI, Cline and others describe it in
// their files, and notes what is wrong.
type entryReader struct {
	place    string
	members  map[string]json.RawMessage
	known    map[string]bool
	problems []error
}

// switchedOff returns the member with which a person has switched an entry off, "" for one that is on.
func (e *namedEntry) switchedOff() string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(e.raw, &members) // what is no object is not switched off
	for _, off := range [][2]string{{"disabled", "true"}, {"enabled", "false"}} {
		if string(members[off[0]]) == off[1] {
			return off[0] + ": " + off[1]
		}
	}
	return ""
}

// config returns an entry as a Config. What is not followed is named in Config.notes.
func (e *clientEntry) config(dir string) (c Config) {
	c = Config{ID: catalog.UpstreamID(e.name), Place: e.place, client: true, name: e.name, notes: e.hidden}
	if e.off != "" {
		c.leftOut, c.off = true, e.off
		return c
	}
	if e.wrong != nil {
		c.leaveOut(e.wrong)
		return c
	}
	r := &entryReader{place: e.place, known: map[string]bool{}}
	if err := json.Unmarshal(e.raw, &r.members); err != nil || r.members == nil {
		if err == nil {
			err = errors.New("it must be an object, not null")
		}
		c.wrong, c.misread = fmt.Errorf("%s: %w", e.place, misread(err)), true
		return c
	}
	r.flag("disabled", false) // true and false: it would be switched off
	r.flag("enabled", true)
	r.command(&c)
	c.Env = r.texts("env", "environment")
	c.Headers = r.texts("headers", "http_headers")
	c.Dir = r.text("cwd", "workingDirectory")
	c.URL = r.text("url", "serverUrl", "httpUrl", "endpoint")
	if file := r.text("envFile"); file != "" {
		if c.EnvFile = file; !filepath.IsAbs(file) && !strings.Contains(file, "${") {
			c.EnvFile = filepath.Join(dir, file)
		}
	}
	r.kind(&c)
	c.Deny = append(r.list("excludeTools", "disabledTools", "disabled_tools"), r.switchedOff("tools")...)
	c.Allow = r.list("includeTools", "enabledTools", "enabled_tools", "tools")
	c.Timeout = r.timeout("timeout")
	r.codex(&c)
	for _, name := range slices.Sorted(maps.Keys(r.members)) {
		if !r.known[name] && !slices.Contains(unfollowed, name) {
			c.notes = append(c.notes, plainText(name, 50))
		}
	}
	c.wrong = errors.Join(r.problems...)
	c.misread = c.wrong != nil
	return c
}

func (r *entryReader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(r.place+": "+format, args...))
}

// member returns the first of some keys that is given.
func (r *entryReader) member(names ...string) (name string, value json.RawMessage) {
	for _, n := range names {
		r.known[n] = true
		if given(r.members[n]) && value == nil {
			name, value = n, r.members[n]
		}
	}
	return name, value
}

// read decodes the first of some keys that is given.
func (r *entryReader) read(to any, names ...string) bool {
	name, value := r.member(names...)
	if value == nil {
		return false
	}
	if err := json.Unmarshal(value, to); err != nil {
		if text := misread(err).Error(); strings.HasPrefix(text, "it must be") {
			r.problem("%s%s", name, strings.TrimPrefix(text, "it"))
		} else {
			r.problem("%s: %s", name, text)
		}
		return false
	}
	return true
}

func (r *entryReader) text(names ...string) (out string) {
	r.read(&out, names...)
	return out
}

// flag reads true or false, also as a string.
func (r *entryReader) flag(name string, otherwise bool) bool {
	_, value := r.member(name)
	switch strings.ToLower(strings.Trim(string(value), `"`)) {
	case "":
	case "true":
		return true
	case "false":
		return false
	default:
		r.problem("%s must be true or false, not %s", name, plainText(string(value), 40))
	}
	return otherwise
}

// command reads the program and its arguments: `command` and `args`, or a list of both.
func (r *entryReader) command(c *Config) {
	_, value := r.member("command")
	var list []string
	if len(value) > 0 && value[0] == '[' {
		r.read(&list, "command")
	} else if program := r.text("command"); program != "" {
		list = []string{program}
	}
	var args []any
	r.read(&args, "args")
	if len(list) == 0 {
		return
	}
	for i, a := range args {
		switch v := a.(type) {
		case string:
			list = append(list, v)
		case float64, bool:
			list = append(list, fmt.Sprint(v))
		default:
			r.problem("args.%d must be a string", i)
		}
	}
	c.Command = list
}

// texts reads an object of strings, in which numbers and booleans are strings, too.
func (r *entryReader) texts(names ...string) (out map[string]string) {
	var values map[string]any
	r.read(&values, names...)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch v := values[name].(type) {
		case string:
			out = with(out, name, v)
		case float64, bool:
			out = with(out, name, fmt.Sprint(v))
		case nil: // it is not set
		default:
			r.problem("%s.%s must be a text", names[0], name)
		}
	}
	return out
}

// kind reads how the server is reached.
func (r *entryReader) kind(c *Config) {
	for _, key := range []string{"type", "transport", "transportType"} {
		kind := r.text(key)
		switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(kind)) {
		case "", "stdio", "local", "command", "http", "https", "streamablehttp", "remote", "url":
		case "sse", "httpsse":
			c.Transport = "sse"
		default:
			r.problem("the type %.40q is unknown; want stdio, http or sse", kind)
		}
	}
	if len(c.Command) > 0 && c.URL != "" && c.Transport == "" { // VS Code and others take the one that the type names
		switch strings.ToLower(r.text("type")) {
		case "stdio", "local":
			c.URL = ""
		case "http", "remote", "streamable-http", "streamable_http":
			c.Command = nil
		}
	}
}

// list reads names of tools. One that is an object is not a list of names.
func (r *entryReader) list(names ...string) (out []string) {
	for _, name := range names {
		if _, value := r.member(name); len(value) > 0 && value[0] == '{' {
			continue
		}
		var some []string
		r.read(&some, name)
		out = append(out, some...)
	}
	return out
}

// switchedOff returns the tools of an object {tool: {enabled: false}}, or {tool: false}.
func (r *entryReader) switchedOff(name string) (out []string) {
	_, value := r.member(name)
	if len(value) == 0 || value[0] != '{' {
		return nil
	}
	var tools map[string]json.RawMessage
	r.read(&tools, name)
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		state := struct {
			Enabled  *bool `json:"enabled"`
			Disabled bool  `json:"disabled"`
		}{}
		if string(tools[tool]) == "false" || json.Unmarshal(tools[tool], &state) == nil && (state.Disabled || state.Enabled != nil && !*state.Enabled) {
			out = append(out, tool)
		}
	}
	return out
}

// timeout reads the time of a call in milliseconds; some clients have seconds, which are small numbers.
func (r *entryReader) timeout(name string) time.Duration {
	var n json.Number
	if !r.read(&n, name) {
		return 0
	}
	out, err := operator.Milliseconds(n.String())
	if err != nil {
		r.problem("%s %w", name, err)
	}
	const seconds = time.Second // below so many milliseconds
	if out < seconds {
		out *= 1000
	}
	return out
}
