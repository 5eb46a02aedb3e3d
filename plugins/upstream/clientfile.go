package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/regular"
)

// maxClientFile bounds a client's file, in bytes.
const maxClientFile = 1 << 20

// readClientFile reads the servers of a file with `mcpServers`, or `servers`, or of Codex's config.toml. With an error it
// returns those that could be read, and nil if none could be looked for.
func readClientFile(path string) ([]Config, error) {
	raw, err := regular.ReadFile(path, maxClientFile)
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
	all, err := join(keys, file)
	for _, c := range all {
		err = errors.Join(err, c.wrong)
	}
	return err
}

// clientFile is where the files of clients have servers.
type clientFile struct {
	MCPServers serverList `json:"mcpServers"`
	Servers    serverList `json:"servers"`
	MCP        struct {   // of the settings of VS Code
		Servers serverList `json:"servers"`
	} `json:"mcp"`
	Projects map[string]struct { // of Claude Code, by folder
		MCPServers serverList `json:"mcpServers"`
		Disabled   []string   `json:"disabledMcpServers"`
	} `json:"projects"`
}

// clientEntry is one server of a file.
type clientEntry struct {
	namedEntry
	place  string
	hidden []string // places of others of this name, which are not followed
	wrong  error    // why it is left out
	off    string   // what it is switched off with
}

// parseClientFile returns the servers of a file. One that is wrong is among them, with the reason; the
// errors, too, say what is wrong.
func parseClientFile(path string, raw []byte) ([]Config, error) {
	plain := bytes.TrimPrefix(raw, byteOrderMark) // Windows puts a mark first
	if len(bytes.TrimSpace(plain)) == 0 {
		return nil, fmt.Errorf("%s: it is empty", path)
	}
	var file clientFile
	var err error
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		plain, err = codexAsJSON(plain)
	} else {
		plain, err = hujson.Standardize(slices.Concat(plain, []byte("\n"))) // VS Code allows comments, which end with their line
	}
	if err == nil {
		err = distinct(plain)
	}
	if err == nil {
		err = json.Unmarshal(plain, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, misread(err))
	}
	if file.MCPServers == nil && file.Servers == nil && file.MCP.Servers == nil && file.Projects == nil {
		return nil, fmt.Errorf("%s: it has neither `mcpServers` nor `servers`", path)
	}
	out := []Config{}
	entries, problems := file.entries(path)
	for _, e := range entries {
		c := e.config(filepath.Dir(path))
		c.workspace = workspaceOf(path)
		if c.startsReader(path) {
			c.leftOut, c.off = true, "it is the program that reads this file"
		}
		out = append(out, c)
	}
	assignIDs(out)
	for _, c := range out {
		if c.wrong != nil {
			problems = append(problems, c.wrong)
		}
	}
	return out, errors.Join(problems...)
}

// workspaceOf returns the folder of the project that a file belongs to, "" for none: VS Code has the servers of a
// project in .vscode/mcp.json.
func workspaceOf(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil || filepath.Base(whole) != "mcp.json" || filepath.Base(filepath.Dir(whole)) != ".vscode" {
		return ""
	}
	return filepath.Dir(filepath.Dir(whole))
}

// entries returns the servers of all places of a file, each name once, and those that are left out.
func (f *clientFile) entries(path string) (out []*clientEntry, problems []error) {
	seen := map[string]*clientEntry{}
	add := func(servers serverList, where string, off []string) {
		for _, one := range servers {
			e := &clientEntry{namedEntry: one, place: path + ": " + where + shownName(one.name)}
			other, twice := seen[one.name]
			if e.off = one.switchedOff(); slices.Contains(off, one.name) {
				e.off = "disabledMcpServers of the project"
			}
			switch {
			case e.off != "": // it holds no name
				out = append(out, e)
			case twice && bytes.Equal(other.raw, e.raw):
			case twice && where == "" && !strings.Contains(other.place, ": projects."):
				e.wrong = fmt.Errorf("%s is left out: %q is in both `mcpServers` and `servers`: the first is used", e.place, one.name)
				out = append(out, e)
			case twice: // of another project, or of all of them
				other.hidden = append(other.hidden, where+shownName(one.name)+" (another server of this name)")
				problems = append(problems, fmt.Errorf("%s is left out, since there is another one of this name: %s", e.place, other.place))
			default:
				seen[one.name] = e
				out = append(out, e)
			}
		}
	}
	here, _ := os.Getwd() // without it no project comes before the servers of the user
	folders := slices.DeleteFunc(slices.Sorted(maps.Keys(f.Projects)), func(folder string) bool { return folder == here })
	for _, folder := range append([]string{here}, folders...) {
		add(f.Projects[folder].MCPServers, "projects."+folder+".", f.Projects[folder].Disabled)
		if folder == here {
			add(f.MCPServers, "", nil)
			add(f.Servers, "", nil)
			add(f.MCP.Servers, "", nil)
		}
	}
	return out, problems
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
