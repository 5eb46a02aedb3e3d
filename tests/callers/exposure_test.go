package callers

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a client declares about code mode, in the words of either era.
var declarations = map[string]map[string]any{
	"unknown":     {},
	"understands": {"experimental": map[string]any{"koan": map[string]any{}}},
	"extension":   {"extensions": map[string]any{"dev.koan/code-mode": map[string]any{}}},
	"legacy":      {"experimental": map[string]any{"koan": map[string]any{"codeMode": false}}},
}

// eras ask as a client that declares something, in the newer era, and in an older
// one by a session of its own.
var eras = map[string]func(s *server, capabilities map[string]any) func(method string, params map[string]any) answer{
	"2026-07-28": func(s *server, capabilities map[string]any) func(string, map[string]any) answer {
		return func(method string, params map[string]any) answer {
			with := map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities}}
			header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
			for k, v := range params {
				with[k] = v
				if k == "name" {
					header["Mcp-Name"] = v.(string)
				}
			}
			return s.post("", method, with, header)
		}
	},
	"2025-11-25": func(s *server, capabilities map[string]any) func(string, map[string]any) answer {
		opened := s.post("", "initialize", map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": map[string]any{"name": "x", "version": "1"},
		}, nil)
		session := map[string]string{"Mcp-Session-Id": opened.header.Get("Mcp-Session-Id")}
		return func(method string, params map[string]any) answer {
			if params == nil {
				params = map[string]any{}
			}
			return s.post("", method, params, session)
		}
	},
}

// shown are the entities that the tools of a list are about, of either style, and
// whether the code tools are there.
func shown(t *testing.T, a answer) (entities []string, code bool) {
	t.Helper()
	for i, name := range a.names(t, "tools", "name") {
		owner, op, _ := strings.Cut(name, "_")
		switch {
		case owner == "koan" && strings.HasPrefix(op, "code_"):
			code = true
		case owner == "entities" && op == "count":
			for _, name := range a.result["tools"].([]any)[i].(map[string]any)["inputSchema"].(map[string]any)["properties"].(map[string]any)["entity"].(map[string]any)["enum"].([]any) {
				entities = append(entities, strings.ToLower(name.(string)))
			}
		case op == "count" && !strings.HasPrefix(owner, "koan"):
			entities = append(entities, owner)
		}
	}
	slices.Sort(entities)
	return entities, code
}

// TestExposure walks through DESIGN's table: what each mode lists and scripts,
// with the annotations of the club's entities (poll: tools, score: code, trophy:
// full, the others nothing), for each kind of client in both eras.
func TestExposure(t *testing.T) {
	inherit := []string{"diary", "event", "member"}
	all := []string{"diary", "event", "member", "poll", "trophy"}
	modes := map[string]struct {
		listed   []string
		code     bool
		scripted []string
	}{
		"code":  {[]string{"poll", "trophy"}, true, append(slices.Clone(inherit), "score", "trophy")},
		"tools": {all, false, nil},
		"full":  {all, true, append(slices.Clone(inherit), "score", "trophy")},
	}
	resolved := map[string]string{"unknown": "full", "understands": "code", "extension": "code", "legacy": "tools"}
	for _, server := range []string{"auto", "code", "tools", "full"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			s := serve(t, t.TempDir(), "--exposure", server)
			require.Equal(t, server == "tools", strings.Contains(s.stderr.String(), "cannot be reached"), "a warning at boot for score")
			var group sync.WaitGroup // all clients at once: each has its own
			for kind, capabilities := range declarations {
				for era, as := range eras {
					group.Go(func() {
						mode := server
						if mode == "auto" {
							mode = resolved[kind]
						}
						want, ask := modes[mode], as(s, capabilities)
						listed, code := shown(t, ask("tools/list", nil))
						if !slices.Equal(want.listed, listed) || want.code != code {
							t.Errorf("%s, %s: %v and code %v, not %v", kind, era, listed, code, want)
						}
						// Hidden is refused, as unknown.
						call := func(tool string) string {
							return ask("tools/call", map[string]any{"name": tool, "arguments": map[string]any{"code": "1"}}).raw
						}
						for entity, hidden := range map[string]bool{"Score": true, "Event": mode == "code", "Poll": false} {
							got := ask("tools/call", map[string]any{"name": "entities_count", "arguments": map[string]any{"entity": entity}})
							if refused := got.fault() == "invalid_payload"; refused != hidden {
								t.Errorf("%s, %s: %s hidden: %v, by %s", kind, era, entity, hidden, got.raw)
							}
						}
						for _, tool := range []string{"score.count", "event.count", "koan.code.validate"} {
							hidden := tool == "score.count" || tool == "event.count" && mode == "code" || tool == "koan.code.validate" && mode == "tools"
							known := strings.Replace(call("x"+tool), `"x`+tool, `"`+tool, -1)
							if known = strings.ReplaceAll(known, `\"x`+tool, `\"`+tool); hidden != (cut(known) == cut(call(tool))) {
								t.Errorf("%s, %s: %s hidden: %v\n%s\n%s", kind, era, tool, hidden, known, call(tool))
							}
						}
						if !want.code {
							return
						}
						seen := ask("tools/call", map[string]any{"name": "koan.code.execute", "arguments": map[string]any{"code": "Object.keys(SDK.Entities).map(n => n.toLowerCase())"}})
						var names []string
						result, _ := seen.data()["result"].([]any)
						for _, n := range result {
							if name := n.(string); !strings.HasPrefix(name, "koan") {
								names = append(names, name)
							}
						}
						slices.Sort(names)
						scripted := slices.Sorted(slices.Values(want.scripted))
						if !slices.Equal(scripted, names) {
							t.Errorf("%s, %s: scripts see %v, not %v: %s", kind, era, names, scripted, seen.raw)
						}
					})
				}
			}
			group.Wait()
		})
	}
}

// cut leaves out what may be meant, which depends on the letters of a name.
func cut(text string) string {
	for {
		begin := strings.Index(text, "; did you mean")
		if begin < 0 {
			return text
		}
		end := strings.IndexByte(text[begin:], '?')
		text = text[:begin] + text[begin+end+1:]
	}
}
