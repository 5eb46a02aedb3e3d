// Package config reads an app's configuration: defaults, then a file, then the
// environment, then flags, checked as a whole.
//
// What belongs here: merging, checking, and reporting every problem with its place. Not here:
// the meaning of any key, which belongs to the provider that declares it.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/framework/catalog"
)

// Source says where values may come from.
type Source struct {
	File  string            // path of the file; "" means no file
	Must  bool              // the file must exist
	Env   []string          // "KEY=value", as os.Environ returns it
	Flags map[string]string // by key, as Flags returns them
	// Defaults replace declared defaults, for commands that need others.
	Defaults map[string]string
}

// Config is a checked configuration. It implements catalog.Values, and is safe for
// concurrent use.
type Config struct {
	settings map[string]catalog.Setting
	state
	now atomic.Pointer[state] // what is read: that of Load, until Take
}

// state is the content of a configuration. It is immutable once it is read.
type state struct {
	values map[string]any
	origin map[string]string // key -> where its value came from
	free   map[string]string // keys below open prefixes
}

var _ catalog.Values = (*Config)(nil)

// Problems are all problems of a configuration.
type Problems []string

// Error returns one line for each problem.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "configuration: " + p[0]
	}
	return fmt.Sprintf("configuration: %d problems\n  - %s", len(p), strings.Join(p, "\n  - "))
}

// Load merges and checks. The error is Problems.
func Load(settings []catalog.Setting, src Source) (*Config, error) {
	c := &Config{settings: map[string]catalog.Setting{}, state: state{values: map[string]any{}, origin: map[string]string{}, free: map[string]string{}}}
	settings, problems := WithDefaults(settings, src.Defaults)
	for _, s := range settings {
		if _, twice := c.settings[s.Key]; twice {
			panic("config: " + s.Key + " is declared twice")
		}
		c.settings[s.Key] = s
		if !s.Open {
			c.values[s.Key] = s.Default
		}
	}
	problems = append(problems, c.file(src)...)
	problems = append(problems, c.environment(src.Env)...)
	problems = append(problems, c.flags(src.Flags, "--")...)
	c.now.Store(&c.state)
	if len(problems) > 0 {
		return nil, append(problems, c.together()...)
	}
	return c, nil
}

// together are the problems of several values together.
func (c *Config) together() (problems Problems) {
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		check := c.settings[key].CheckAll
		if check == nil {
			continue
		}
		if err := check(c); err != nil {
			problems = append(problems, strings.Split(err.Error(), "\n")...)
		}
	}
	return problems
}

// WithDefaults returns settings with other defaults, by key, written as in the
// environment.
func WithDefaults(settings []catalog.Setting, defaults map[string]string) ([]catalog.Setting, Problems) {
	settings = slices.Clone(settings)
	var problems Problems
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		i := slices.IndexFunc(settings, func(s catalog.Setting) bool { return s.Key == key && !s.Open })
		if i < 0 {
			problems = append(problems, "default of "+key+": there is no such key")
			continue
		}
		v, err := convert(settings[i], defaults[key])
		if err != nil {
			problems = append(problems, "default of "+key+": "+key+" "+err.Error())
			continue
		}
		settings[i].Default = v
	}
	return settings, problems
}

// flags takes values by key, in the order of the keys.
func (c *Config) flags(values map[string]string, place string) Problems {
	var problems Problems
	for _, k := range slices.Sorted(maps.Keys(values)) {
		problems = append(problems, c.set(k, values[k], place+k)...)
	}
	return problems
}

// set takes one value, as text or as a decoded YAML value.
func (c *Config) set(key string, raw any, place string) Problems {
	s, ok := c.settings[key]
	if !ok || s.Open {
		if s, open := c.open(key); open {
			c.free[key] = plain(raw)
			c.origin[key] = place
			if s.CheckKey == nil {
				return nil
			}
			if err := s.CheckKey(strings.TrimPrefix(key, s.Key+"."), c.free[key]); err != nil {
				return Problems{place + ": " + key + " " + err.Error()}
			}
			return nil
		}
		return Problems{place + ": there is no key " + strconv.Quote(key) + c.near(key)}
	}
	v, err := convert(s, raw)
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var problems Problems
		for _, e := range several.Unwrap() {
			problems = append(problems, place+": "+key+" "+e.Error())
		}
		return problems
	}
	if err != nil {
		return Problems{place + ": " + key + " " + err.Error()}
	}
	c.values[key], c.origin[key] = v, place
	return nil
}

// plain is a value below an open prefix as text: a list as JSON.
func plain(raw any) string {
	if list, ok := raw.([]any); ok {
		if text, err := json.Marshal(list); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(raw)
}

// open returns the open setting that a key lies below.
func (c *Config) open(key string) (s catalog.Setting, ok bool) {
	for prefix, s := range c.settings {
		if s.Open && strings.HasPrefix(key, prefix+".") {
			return s, true
		}
	}
	return s, false
}

// checksKeys reports whether a key stands below the prefix of a setting that checks what
// stands there.
func (c *Config) checksKeys(key string) bool {
	s, open := c.open(key)
	return open && s.CheckKey != nil
}

// known reports whether the key's first part is a section, or the key itself is
// declared.
func (c *Config) known(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	for k := range c.settings {
		if k == section || strings.HasPrefix(k, section+".") {
			return true
		}
	}
	return false
}

func convert(s catalog.Setting, raw any) (any, error) {
	var v any
	switch s.Default.(type) {
	case bool:
		b, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(raw)))
		if err != nil {
			return nil, fmt.Errorf("must be true or false, not %q", fmt.Sprint(raw))
		}
		v = b
	case int:
		n, err := strconv.Atoi(fmt.Sprint(raw))
		if err != nil {
			return nil, fmt.Errorf("must be a whole number%s, not %q", unit(s), fmt.Sprint(raw))
		}
		if (s.Min != 0 || s.Max != 0) && (n < s.Min || n > s.Max) {
			return nil, fmt.Errorf("must be from %d to %d%s, not %d", s.Min, s.Max, unit(s), n)
		}
		v = n
	case []string:
		v = list(raw)
	case []map[string]string:
		records, err := mappings(raw)
		if err != nil {
			return nil, err
		}
		v = records
	case string:
		text := fmt.Sprint(raw)
		if len(s.OneOf) > 0 && !contains(s.OneOf, text) {
			return nil, fmt.Errorf("must be one of %s, not %q", strings.Join(s.OneOf, ", "), text)
		}
		v = text
	default:
		panic(fmt.Sprintf("config: %s has a default of type %T", s.Key, s.Default))
	}
	if s.Check != nil {
		if err := s.Check(v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func list(raw any) []string {
	out := []string{}
	if items, ok := raw.([]any); ok {
		for _, i := range items {
			out = append(out, fmt.Sprint(i))
		}
		return out
	}
	text := strings.Trim(fmt.Sprint(raw), "[] ")
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// mappings reads a list of mappings of plain values; as text it is YAML, as
// "[{entity: Todo, mode: never}]".
func mappings(raw any) ([]map[string]string, error) {
	if text, ok := raw.(string); ok {
		raw = nil
		if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
			return nil, fmt.Errorf("must be a list of mappings, such as [{a: b}]: %w", err)
		}
	}
	items, ok := raw.([]any)
	if !ok && raw != nil {
		return nil, errors.New("must be a list of mappings, such as [{a: b}]")
	}
	out := []map[string]string{}
	for i, item := range items {
		members, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("must be a list of mappings; item %d is not one", i+1)
		}
		record := map[string]string{}
		for name, value := range members {
			switch value.(type) {
			case nil, []any, map[string]any:
				return nil, fmt.Errorf("must have plain values; %q of item %d is not one", name, i+1)
			}
			record[name] = fmt.Sprint(value)
		}
		out = append(out, record)
	}
	return out, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func unit(s catalog.Setting) string {
	if s.Unit == "" {
		return ""
	}
	return " (" + s.Unit + ")"
}

func value[T any](c *Config, key string) T {
	v, ok := c.now.Load().values[key].(T)
	if !ok {
		panic(fmt.Sprintf("config: %q is not declared with this type", key))
	}
	return v
}

// Bool returns a boolean value.
func (c *Config) Bool(key string) bool { return value[bool](c, key) }

// Int returns a whole number.
func (c *Config) Int(key string) int { return value[int](c, key) }

// String returns a text.
func (c *Config) String(key string) string { return value[string](c, key) }

// Strings returns a list.
func (c *Config) Strings(key string) []string { return value[[]string](c, key) }

// Records returns a list of mappings.
func (c *Config) Records(key string) []map[string]string { return value[[]map[string]string](c, key) }

// Duration returns a whole number of milliseconds as a duration.
func (c *Config) Duration(key string) time.Duration {
	return time.Duration(value[int](c, key)) * time.Millisecond
}

// Under returns the free keys below an open prefix, relative to it.
func (c *Config) Under(prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range c.now.Load().free {
		if rest, ok := strings.CutPrefix(k, prefix+"."); ok {
			out[rest] = v
		}
	}
	return out
}

// Each calls fn with each text of the values: those of a list one by one, those below an open prefix
// with their own key.
func (c *Config) Each(fn func(s catalog.Setting, key, text string)) {
	now := c.now.Load()
	for key, v := range now.values {
		switch v := v.(type) {
		case string:
			fn(c.settings[key], key, v)
		case []string:
			for _, text := range v {
				fn(c.settings[key], key, text)
			}
		}
	}
	for key, text := range now.free {
		s, _ := c.open(key)
		fn(s, key, text)
	}
}

// Place says where a key's value came from, "" for its default.
func (c *Config) Place(key string) string { return c.now.Load().origin[key] }

// IsSet reports whether a value came from anywhere but its default.
func (c *Config) IsSet(key string) bool { return c.now.Load().origin[key] != "" }
