package install

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// Entry is what a client is told of an app. It never has a secret: variables are named.
type Entry struct {
	Name    string
	Command string   // absolute path
	Args    []string // of a server over stdio
	Env     []string // names of the variables that it needs
	OwnEnv  []string // those of Env that the app's own code reads
	URL     string   // of a server over HTTP, in place of a command
	Token   string   // the name of the variable with the bearer token for URL
}

// member is one of an entry, with its value.
type member struct {
	name  string
	value any
}

// own are the members that an entry may have. An entry that is there is made equal in
// them; others that it has are the user's.
var own = []string{"type", "command", "args", "env", "env_vars", "url", "httpUrl", "headers", "bearer_token_env_var"}

// members returns an entry as a client writes it.
func (c client) entry(e Entry) ([]member, error) {
	var out []member
	kind := func(name string) {
		if c.kind {
			out = append(out, member{"type", name})
		}
	}
	if e.URL != "" {
		if c.url == "" {
			return nil, fault.Newf(fault.CapabilityUnsupported, "%s starts servers over stdio only: its file has no place for a URL", c.title).
				WithHint("Add the URL as a connector in %s's settings, or install without --url.", c.title)
		}
		kind("http")
		out = append(out, member{c.url, e.URL})
		switch {
		case e.Token == "":
		case c.bearer != "":
			out = append(out, member{c.bearer, e.Token})
		default:
			out = append(out, member{"headers", map[string]string{"Authorization": "Bearer " + c.named(e.Token)}})
		}
		return out, nil
	}
	kind("stdio")
	out = append(out, member{"command", e.Command}, member{"args", e.Args})
	switch {
	case len(e.Env) == 0:
	case c.passes != "":
		out = append(out, member{c.passes, e.Env})
	case c.reference == "":
		settings := slices.DeleteFunc(slices.Clone(e.Env), func(name string) bool { return slices.Contains(e.OwnEnv, name) })
		if len(settings) == 0 { // the person is told to write them into the entry
			break
		}
		return nil, fault.Newf(fault.CapabilityUnsupported, "%s passes no variables of the environment on, and the app needs %s", c.title, strings.Join(settings, ", ")).
			WithHint("Put what they say into koan.yaml (${file:PATH} for secrets), unset them, and install again.")
	default:
		env := map[string]string{}
		for _, name := range e.Env {
			env[name] = c.named(name)
		}
		out = append(out, member{"env", env})
	}
	return out, nil
}

func (c client) named(variable string) string {
	return strings.Replace(c.reference, "NAME", variable, 1)
}

// encode returns a value as JSON on several lines; the first one is not indented.
func encode(v any, indent, unit string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if unit != "" {
		e.SetIndent(indent, unit)
	}
	if err := e.Encode(v); err != nil {
		panic(err) // texts, lists and maps of texts always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// object returns members as one JSON object.
func object(members []member, indent, unit string) string {
	if unit == "" {
		var parts []string
		for _, m := range members {
			parts = append(parts, encode(m.name, "", "")+":"+encode(m.value, "", ""))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	var parts []string
	for _, m := range members {
		parts = append(parts, indent+unit+encode(m.name, "", "")+": "+encode(m.value, indent+unit, unit))
	}
	return "{\n" + strings.Join(parts, ",\n") + "\n" + indent + "}"
}

// decoded returns members as a decoder would.
func decoded(members []member) map[string]any {
	out := map[string]any{}
	for _, m := range members {
		switch v := m.value.(type) {
		case []string:
			list := make([]any, len(v))
			for i, s := range v {
				list[i] = s
			}
			out[m.name] = list
		case map[string]string:
			object := map[string]any{}
			for _, k := range slices.Sorted(maps.Keys(v)) {
				object[k] = v[k]
			}
			out[m.name] = object
		default:
			out[m.name] = v
		}
	}
	return out
}

// equalValues compares decoded values.
func equalValues(a, b any) bool { return encode(a, "", "") == encode(b, "", "") }
