package install

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variables finds the variables that a configuration of Koan names and that have no
// default.
var variables = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}`)

// Variables are the names of the environment variables that a text refers to, as Koan
// reads references.
func Variables(text string) []string {
	names := map[string]bool{}
	for _, m := range variables.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// moved returns a client's server as a file of --mcp-config has it. The error says why
// Koan cannot take its place.
func (c client) moved(value map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if err := c.move(out, name, value[name]); err != nil {
			return nil, err
		}
	}
	if command, ok := out["command"].(string); ok && relative(command) {
		return nil, fmt.Errorf("its command %q depends on where the client starts it", command)
	}
	if dir, ok := out["cwd"].(string); ok && !absolute(dir) {
		return nil, fmt.Errorf("its folder %q depends on where the client starts it", dir)
	}
	return out, nil
}

// common are the members that a file of --mcp-config has, too.
var common = strings.Fields("command args env cwd headers type timeout")

// move takes one member. One that Koan does not know is a reason to leave the server where
// it is: it may restrict what the server can do.
func (c client) move(out map[string]any, name string, value any) error {
	if slices.Contains(common, name) {
		if _, isMap := value.(map[string]any); !isMap && (name == "env" || name == "headers") {
			return fmt.Errorf("its %s is not an object", name)
		}
		v, err := c.translate(value)
		out[name] = v
		return err
	}
	switch name {
	case "url", "serverUrl", "httpUrl":
		v, err := c.translate(value)
		if err != nil {
			return err
		}
		if c.id == "gemini" && name == "url" && out["type"] == nil {
			out["type"] = "sse" // what `url` without a type means there
		}
		out["url"] = v
		return nil
	case "description", "trust", "disabled", "enabled", "startup_timeout_sec":
		off := name == "disabled" && value == true || name == "enabled" && value == false
		if off {
			return fmt.Errorf("it is switched off")
		}
		return nil
	}
	if c.toml {
		if done, err := c.moveCodex(out, name, value); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("its %q is unknown to Koan", name)
}

// moveCodex takes the members that only Codex has.
func (c client) moveCodex(out map[string]any, name string, value any) (bool, error) {
	within := func(member string) map[string]any {
		m, ok := out[member].(map[string]any)
		if !ok {
			m = map[string]any{}
			out[member] = m
		}
		return m
	}
	switch v := value.(type) {
	case []any:
		if name != "env_vars" {
			return false, nil
		}
		for _, item := range v {
			variable, ok := item.(string)
			if !ok {
				return false, fmt.Errorf("its env_vars has more than names")
			}
			within("env")[variable] = "${env:" + variable + "}"
		}
		return true, nil
	case string:
		if name != "bearer_token_env_var" {
			return false, nil
		}
		within("headers")["Authorization"] = "Bearer ${env:" + v + "}"
		return true, nil
	case map[string]any:
		if name != "http_headers" && name != "env_http_headers" {
			return false, nil
		}
		for header, text := range v {
			if name == "env_http_headers" {
				text = fmt.Sprintf("${env:%v}", text)
			} else if _, err := c.translate(text); err != nil {
				return false, err
			}
			within("headers")[header] = text
		}
		return true, nil
	case int64, float64:
		if name != "tool_timeout_sec" {
			return false, nil
		}
		seconds, ok := v.(float64)
		if n, whole := v.(int64); whole {
			seconds, ok = float64(n), true
		}
		out[strings.TrimSuffix(strings.TrimPrefix(name, "tool_"), "_sec")] = int64(seconds * 1000)
		return ok, nil
	}
	return false, nil
}

// translate returns a value with the client's references as Koan writes them. The error
// names one that Koan would not replace as the client does.
func (c client) translate(value any) (any, error) {
	switch v := value.(type) {
	case string:
		for _, ref := range c.resolved.FindAllString(v, -1) {
			if !c.shared.MatchString(ref) {
				return nil, fmt.Errorf("only %s knows what %s stands for", c.title, ref)
			}
		}
		if !c.toml && c.resolved == dollars {
			v = dollars.ReplaceAllStringFunc(v, func(ref string) string { return "${env:" + strings.Trim(ref, "${}") + "}" })
		}
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			t, err := c.translate(item)
			if err != nil {
				return nil, err
			}
			out[i] = t
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			t, err := c.translate(item)
			if err != nil {
				return nil, err
			}
			out[name] = t
		}
		return out, nil
	}
	return value, nil
}

// relative reports whether a command is a path from the working directory, and not a name
// that is looked up in PATH.
func relative(command string) bool {
	return strings.ContainsAny(command, `/\`) && !absolute(command)
}

// absolute reports whether a path is one on any system: a file may come from another one.
func absolute(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, "${") || drive
}
