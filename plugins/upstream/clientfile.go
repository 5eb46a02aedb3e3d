package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/koan-go/koan/framework/catalog"
)

// maxClientFile bounds a client's file, in bytes.
const maxClientFile = 1 << 20

// clientServer is a server as Claude, Cursor and VS Code describe it in their files.
type clientServer struct {
	Type      string            `json:"type"`
	Transport string            `json:"transport"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]any    `json:"env"`
	Dir       string            `json:"cwd"`
	URL       string            `json:"url"`
	ServerURL string            `json:"serverUrl"`
	Headers   map[string]string `json:"headers"`
	Disabled  bool              `json:"disabled"`
	Timeout   json.Number       `json:"timeout"` // milliseconds
}

// readClientFile reads the servers of a file with `mcpServers`, or `servers`. With an error it
// returns those that could be read, and nil if none could be looked for.
func readClientFile(path string) ([]Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxClientFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxClientFile)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseClientFile(path, raw)
}

// CheckClientFile reports why a file of --mcp-config with this content would be refused,
// beside the servers that are configured.
func CheckClientFile(v catalog.Values, raw []byte) error {
	file, err := parseClientFile("the client's file", raw)
	if err != nil {
		return err
	}
	keys, err := parseKeys(v.Under(settingsKey))
	if err != nil {
		return err
	}
	_, err = join(keys, file)
	return err
}

func parseClientFile(path string, raw []byte) ([]Config, error) {
	var file struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
		Servers    map[string]json.RawMessage `json:"servers"`
	}
	plain := bytes.TrimPrefix(raw, []byte("\ufeff")) // Windows puts a mark first
	if len(bytes.TrimSpace(plain)) == 0 {
		return nil, fmt.Errorf("%s: it is empty", path)
	}
	plain, err := hujson.Standardize(plain) // VS Code allows comments
	if err == nil {
		err = distinct(plain)
	}
	if err == nil {
		err = json.Unmarshal(plain, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, misread(err))
	}
	all := merged(file.MCPServers, file.Servers)
	if file.MCPServers == nil && file.Servers == nil {
		return nil, fmt.Errorf("%s: it has neither `mcpServers` nor `servers`", path)
	}
	out := []Config{}
	var problems []error
	for name := range file.Servers {
		if _, twice := file.MCPServers[name]; twice {
			problems = append(problems, fmt.Errorf("%s: %q is in both `mcpServers` and `servers`", path, name))
		}
	}
	names := map[string]string{} // by id
	for _, name := range slices.Sorted(maps.Keys(all)) {
		place := path + ": " + name
		var s clientServer
		if err := json.Unmarshal(all[name], &s); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, misread(err)))
			out = append(out, Config{ID: serverID(name), Place: place, misread: true})
			continue
		}
		if s.Disabled {
			continue
		}
		c, wrong := s.config(name, place)
		problems = append(problems, wrong...)
		if other, twice := names[c.ID]; twice {
			problems = append(problems, fmt.Errorf("%s: %q and %q have the same id, %s", path, other, name, c.ID))
		}
		names[c.ID] = name
		out = append(out, c)
	}
	return out, errors.Join(problems...)
}

// distinct returns an error for JSON with an object that has a name twice: the decoder would
// take the last one, and leave out the other silently.
func distinct(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	var seen []map[string]bool // of the objects that are open; nil for a list
	wantsName := false
	for {
		t, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if name, ok := t.(string); ok && wantsName {
			if names := seen[len(seen)-1]; names[name] {
				return fmt.Errorf("%q is there twice", name)
			}
			seen[len(seen)-1][name] = true
			wantsName = false
			continue
		}
		switch t {
		case json.Delim('{'):
			seen = append(seen, map[string]bool{})
		case json.Delim('['):
			seen = append(seen, nil)
		case json.Delim('}'), json.Delim(']'):
			seen = seen[:len(seen)-1]
		}
		wantsName = len(seen) > 0 && seen[len(seen)-1] != nil
	}
}

// misread returns an error of the decoder in words that name no Go types.
func misread(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	want := map[reflect.Kind]string{reflect.String: "a string", reflect.Slice: "a list", reflect.Bool: "true or false"}[wrong.Type.Kind()]
	if want == "" {
		want = "an object"
	}
	if _, number := reflect.Zero(wrong.Type).Interface().(json.Number); number {
		want = "a number"
	}
	if wrong.Field == "" {
		return fmt.Errorf("it must be %s, not %s", want, article(wrong.Value))
	}
	return fmt.Errorf("%s must be %s, not %s", wrong.Field, want, article(wrong.Value))
}

// article puts an article before a kind of JSON value.
func article(kind string) string {
	kind, _, _ = strings.Cut(kind, " ") // numbers come with their digits
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

// config returns the same as a Config, and what is wrong with it.
func (s *clientServer) config(name, place string) (c Config, problems []error) {
	c = Config{ID: serverID(name), Place: place, Dir: s.Dir, URL: s.URL, Headers: s.Headers}
	if c.URL == "" {
		c.URL = s.ServerURL
	}
	if s.Command != "" {
		c.Command = append([]string{s.Command}, s.Args...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		switch v := s.Env[name].(type) {
		case string:
			c.Env = with(c.Env, name, v)
		case float64, bool:
			c.Env = with(c.Env, name, fmt.Sprint(v))
		default:
			problems = append(problems, fmt.Errorf("%s: env.%s must be a text", place, name))
		}
	}
	for _, kind := range []string{s.Type, s.Transport} {
		switch strings.ToLower(kind) {
		case "", "stdio", "http", "streamable-http", "streamablehttp":
		case "sse":
			c.Transport = "sse"
		default:
			problems = append(problems, fmt.Errorf("%s: the type %.40q is unknown; want stdio, http or sse", place, kind))
		}
	}
	if s.Timeout != "" {
		timeout, err := milliseconds(s.Timeout.String())
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: timeout %w", place, err))
		}
		c.Timeout = timeout
	}
	return c, problems
}

// serverID makes an id from any name.
func serverID(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, name)
}
