package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/regular"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

func (c *Config) file(src Source) Problems {
	if src.File == "" {
		return nil
	}
	raw, err := regular.ReadFile(src.File, maxFile)
	if errors.Is(err, fs.ErrNotExist) && !src.Must {
		return nil
	}
	if err != nil {
		return Problems{err.Error()}
	}
	return c.decode(src.File, raw)
}

// decode reads YAML and takes its values.
func (c *Config) decode(name string, raw []byte) Problems {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return Problems{name + ": " + err.Error() + tabbed(raw)}
	}
	if err := d.Decode(&more); err == nil && more.Content[0].Tag != "!!null" {
		return Problems{fmt.Sprintf("%s:%d: there is a second document; only one is read", name, more.Line)}
	} else if err != nil && !errors.Is(err, io.EOF) {
		return Problems{name + ": " + err.Error()}
	}
	if len(doc.Content) == 0 {
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return Problems{fmt.Sprintf("%s:%d: want a mapping of keys to values", name, root.Line)}
	}
	return c.walk(name, "", root, 0)
}

// tabbed says so where a line begins with a tab, which YAML does not allow and its message does not name.
func tabbed(raw []byte) string {
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		if indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; bytes.Contains(indent, []byte("\t")) {
			return fmt.Sprintf(" (line %d is indented with a tab; use spaces)", n)
		}
	}
	return ""
}

// maxDepth bounds the nesting of keys, so that an alias cannot loop.
const maxDepth = 8

func (c *Config) walk(name, prefix string, n *yaml.Node, depth int) Problems {
	var problems Problems
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		key := prefix + k.Value
		place := fmt.Sprintf("%s:%d", name, k.Line)
		if first := lines[key]; first > 0 && c.known(key) {
			problems = append(problems, fmt.Sprintf("%s: %s is there already, at line %d", place, key, first))
			continue
		}
		lines[key] = k.Line
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if v.Kind == yaml.MappingNode {
			switch {
			case depth >= maxDepth:
				problems = append(problems, place+": nested too deeply")
			case len(v.Content) == 0 && c.checksKeys(key):
				problems = append(problems, c.set(key, "", place)...)
			case c.known(key):
				problems = append(problems, c.walk(name, key+".", v, depth+1)...)
			default:
				problems = append(problems, c.misspelt(place, key)...)
			}
			continue
		}
		if !c.known(key) {
			problems = append(problems, c.misspelt(place, key)...)
		}
		if _, declared := c.settings[key]; !c.known(key) || v.Tag == "!!null" && !declared {
			continue // another program's section may live in the same file; this one may be empty
		}
		var value any
		if err := v.Decode(&value); err != nil {
			problems = append(problems, place+": "+err.Error())
			continue
		}
		if value == nil {
			value = ""
		}
		problems = append(problems, c.set(key, value, place)...)
	}
	return problems
}

// environment takes KOAN_A_B for the key a.b, ignoring case.
func (c *Config) environment(env []string) Problems {
	byEnv := map[string]string{}
	sections := map[string]string{}
	for key := range c.settings {
		byEnv[envName(key)] = key
		section, _, _ := strings.Cut(key, ".")
		sections[envName(section)] = section
	}
	var problems Problems
	sorted := append([]string(nil), env...)
	sort.Strings(sorted)
	for _, kv := range sorted {
		name, val, ok := strings.Cut(kv, "=")
		if !ok || !strings.HasPrefix(name, "KOAN_") {
			continue
		}
		key, declared := byEnv[strings.ToUpper(name)]
		if !declared || c.settings[key].Open {
			key = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "KOAN_"), "_", "."))
			section, rest, _ := strings.Cut(strings.TrimPrefix(strings.ToUpper(name), "KOAN_"), "_")
			if _, known := sections["KOAN_"+section]; !known {
				problems = append(problems, c.misspelt(name, section)...)
				continue
			}
			if _, open := c.open(key); !open {
				problems = append(problems, name+": there is no such key"+c.near(sections["KOAN_"+section]+"."+rest))
				continue
			}
			key = c.asInFile(name, key)
		}
		problems = append(problems, c.set(key, val, name)...)
	}
	return problems
}

// asInFile returns the free key of the file that a variable means, which has no case and "_" for
// other marks; key if there is none.
func (c *Config) asInFile(name, key string) string {
	for _, written := range slices.Sorted(maps.Keys(c.free)) {
		if envName(written) == strings.ToUpper(name) {
			return written
		}
	}
	return key
}

// Variables returns the names of the variables of an environment that set a key.
func Variables(settings []catalog.Setting, env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || !strings.HasPrefix(name, "KOAN_") {
			continue
		}
		sets := func(s catalog.Setting) bool {
			own := envName(s.Key)
			return !s.Open && strings.EqualFold(name, own) || s.Open && strings.HasPrefix(strings.ToUpper(name), own+"_")
		}
		if slices.ContainsFunc(settings, sets) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// misspelt rejects a key whose first part is almost a section of this app. Any other one
// belongs to another program.
func (c *Config) misspelt(place, key string) Problems {
	const least = 5 // letters; shorter words are near to many
	section, _, _ := strings.Cut(key, ".")
	var names []string
	for k := range c.settings {
		first, _, _ := strings.Cut(k, ".")
		names = append(names, first)
	}
	sort.Strings(names)
	if n := fault.Nearest(section, names); n != "" && len(section) >= least {
		return Problems{fmt.Sprintf("%s: there is no key %q; did you mean %q?", place, section, n)}
	}
	return nil
}

func envName(key string) string {
	return "KOAN_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// near suggests the key of the same section that was most likely meant.
func (c *Config) near(key string) string {
	section, rest, _ := strings.Cut(key, ".")
	var names []string
	for k := range c.settings {
		if name, ok := strings.CutPrefix(k, section+"."); ok {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	if n := fault.Nearest(rest, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", section+"."+n)
	}
	return ""
}

// Flags removes `--key value` and `--key=value` with configuration keys from a command
// line, and returns the rest, which is for the command. It also takes keys of known
// sections that do not exist, so that Load can report them.
func Flags(settings []catalog.Setting, args []string) (rest []string, flags map[string]string, err error) {
	c := &Config{settings: map[string]catalog.Setting{}}
	for _, s := range settings {
		c.settings[s.Key] = s
	}
	flags = map[string]string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(rest, args[i:]...), flags, nil
		}
		name, val, inline := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		s, declared := c.settings[name]
		if !strings.HasPrefix(arg, "--") || !declared && (!strings.Contains(name, ".") || !c.known(name)) || s.Open {
			rest = append(rest, arg)
			continue
		}
		if !inline {
			_, isBool := s.Default.(bool)
			next := ""
			if i+1 < len(args) {
				next = args[i+1]
			}
			switch {
			case isBool && next != "true" && next != "false":
				val = "true"
			case i+1 >= len(args):
				return nil, nil, fmt.Errorf("--%s needs a value", name)
			default:
				val = next
				i++
			}
		}
		flags[name] = val
	}
	return rest, flags, nil
}
