package callers

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// hidden is what a caller without scopes of its own, who may name the set "default", must read
// nowhere: the entity behind scopes, the edge to it, its field, and the other sets.
var hidden = regexp.MustCompile(`(?i)member|guests|phone|branch|12345|"Ann"`)

// rights is a club with a caller who may do little, and one who may do everything.
func rights(t *testing.T) *server {
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("narrow", "'entities:write'", "default")+token("wide", "'*'", "'*'"))
	return serve(t, dir, "--server.tokensFile", tokens, "--codeMode.faces", "koan,codemode")
}

// script runs a script, and returns what came of it.
func (s *server) script(who, code string, more ...string) answer {
	in := map[string]any{"code": code}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i]] = []string{more[i+1]}
	}
	return s.tool(who, "koan.code.execute", in)
}

func complete(ref, name, argument, typed string) map[string]any {
	about := map[string]any{"type": "ref/" + ref}
	about[map[string]string{"prompt": "name", "resource": "uri"}[ref]] = name
	return map[string]any{"ref": about, "argument": map[string]any{"name": argument, "value": typed}}
}

const (
	template = "koan://sdk/{name}.d.ts"
	prompt   = "write-koan-script"
)

// projections are all the ways in which a caller comes to know what there is. Each
// is asked without naming what is hidden.
var projections = map[string]func(s *server, who string) answer{
	"discovery": func(s *server, who string) answer { return s.ask(who, "server/discover", nil) },
	"initialize": func(s *server, who string) answer {
		return s.post(who, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "x", "version": "1"}}, nil)
	},
	"tools":     func(s *server, who string) answer { return s.ask(who, "tools/list", nil) },
	"resources": func(s *server, who string) answer { return s.ask(who, "resources/list", nil) },
	"templates": func(s *server, who string) answer { return s.ask(who, "resources/templates/list", nil) },
	"all declarations": func(s *server, who string) answer {
		return s.ask(who, "resources/read", map[string]any{"uri": "koan://sdk/koan.d.ts"})
	},
	"modules": func(s *server, who string) answer {
		return s.ask(who, "resources/read", map[string]any{"uri": "koan://sdk/modules.d.ts"})
	},
	"catalog": func(s *server, who string) answer {
		return s.ask(who, "resources/read", map[string]any{"uri": "koan://catalog.json"})
	},
	"an entity's": func(s *server, who string) answer {
		return s.ask(who, "resources/read", map[string]any{"uri": "koan://sdk/Event.d.ts"})
	},
	"prompts": func(s *server, who string) answer { return s.ask(who, "prompts/list", nil) },
	"a prompt": func(s *server, who string) answer {
		return s.ask(who, "prompts/get", map[string]any{"name": prompt, "arguments": map[string]any{"task": "x"}})
	},
	"argument": func(s *server, who string) answer {
		return s.ask(who, "completion/complete", complete("prompt", prompt, "entities", ""))
	},
	"argument, typed": func(s *server, who string) answer {
		return s.ask(who, "completion/complete", complete("prompt", prompt, "entities", "m"))
	},
	"template's name": func(s *server, who string) answer {
		return s.ask(who, "completion/complete", complete("resource", template, "name", ""))
	},
	"search by name": func(s *server, who string) answer {
		return s.tool(who, "koan.code.search", map[string]any{"query": "event", "detail": "full", "limit": 50})
	},
	"search by meaning": func(s *server, who string) answer {
		return s.tool(who, "koan.code.search", map[string]any{"query": "somebody who belongs", "detail": "full", "limit": 50})
	},
	"search for all": func(s *server, who string) answer {
		return s.tool(who, "koan.code.search", map[string]any{"query": "delete upsert collection", "detail": "name", "limit": 50})
	},
	"validate, suggest": func(s *server, who string) answer {
		return s.tool(who, "koan.code.validate", map[string]any{"code": "SDK.Entities.Nember.collection()"})
	},
	"validate, with": func(s *server, who string) answer {
		return s.tool(who, "koan.code.validate", map[string]any{"code": "SDK.Entities.Event.collection({with: 'all.guest'})"})
	},
	"validate, set": func(s *server, who string) answer {
		return s.tool(who, "koan.code.validate", map[string]any{"code": "SDK.Entities.Event.collection({set: 'brunch-1'})"})
	},
	"a tool's name": func(s *server, who string) answer { return s.tool(who, "nember.collection", nil) },
	"an argument's entity": func(s *server, who string) answer {
		return s.tool(who, "entities.collection", map[string]any{"entity": "Nember"})
	},
	"a generic tool's arguments": func(s *server, who string) answer {
		return s.tool(who, "entities.collection", map[string]any{"entity": "Event", "with": "guest"})
	},
	"descriptions": func(s *server, who string) answer { return s.tool(who, "entities.describe", nil) },
	"a description": func(s *server, who string) answer {
		return s.tool(who, "entities.describe", map[string]any{"entities": []string{"Event"}})
	},
	"a description, suggest": func(s *server, who string) answer {
		return s.tool(who, "entities.describe", map[string]any{"entities": []string{"Nember"}})
	},
	"a tool's arguments": func(s *server, who string) answer {
		return s.tool(who, "event.collection", map[string]any{"with": "guest"})
	},
	"a tool's sets": func(s *server, who string) answer {
		return s.tool(who, "event.collection", map[string]any{"set": "brunch-1"})
	},
	"with all": func(s *server, who string) answer {
		return s.tool(who, "event.get-by-id", map[string]any{"id": "opening", "with": "all"})
	},
	"the SDK": func(s *server, who string) answer {
		return s.script(who, "const seen = {}; for (const n of Object.getOwnPropertyNames(SDK.Entities)) seen[n] = Object.getOwnPropertyNames(SDK.Entities[n]); [seen, Object.getOwnPropertyNames(SDK)]")
	},
	"a script's mistake": func(s *server, who string) answer { return s.script(who, "SDK.Entities.Nember.collection()") },
	"a script's filter": func(s *server, who string) answer {
		return s.script(who, "SDK.Entities.Event.collection({filter: {guest: {$some: {}}}})")
	},
	"a script's result": func(s *server, who string) answer {
		return s.script(who, "SDK.Entities.Event.getById('opening', {with: 'all'})")
	},
	"discovery module": func(s *server, who string) answer {
		return s.script(who, "import * as d from '@codemode/discovery'; const out = {names: Object.keys(d)}; for (const k of Object.keys(d)) { try { out[k] = await d[k]('koan') } catch (e) { out[k] = String(e.message) } } out")
	},
	"servers module": func(s *server, who string) answer {
		return s.script(who, "import * as koan from '@codemode/servers/koan'; Object.keys(koan)")
	},
	"codemode.run": func(s *server, who string) answer {
		return s.tool(who, "codemode.run", map[string]any{"code": "import * as koan from '@codemode/servers/koan'; globalThis.__codemode_result__ = Object.keys(koan)"})
	},
}

// refusals name what is hidden. What comes back must be what comes of a name that
// does not exist.
var refusals = map[string]func(s *server, who, entity, edge, set string) answer{
	"a tool": func(s *server, who, entity, _, _ string) answer {
		return s.tool(who, strings.ToLower(entity)+".collection", nil)
	},
	"a tool, deleting": func(s *server, who, entity, _, _ string) answer {
		return s.tool(who, strings.ToLower(entity)+".delete", map[string]any{"id": "ann"})
	},
	"declarations": func(s *server, who, entity, _, _ string) answer {
		return s.ask(who, "resources/read", map[string]any{"uri": "koan://sdk/" + entity + ".d.ts"})
	},
	"a prompt": func(s *server, who, entity, _, _ string) answer {
		return s.ask(who, "prompts/get", map[string]any{"name": prompt, "arguments": map[string]any{"task": "x", "entities": entity}})
	},
	"validate": func(s *server, who, entity, _, _ string) answer {
		return s.tool(who, "koan.code.validate", map[string]any{"code": "SDK.Entities." + entity + ".collection()"})
	},
	"validate, an edge": func(s *server, who, _, edge, _ string) answer {
		return s.tool(who, "koan.code.validate", map[string]any{"code": "SDK.Entities.Event.collection({with: '" + edge + "'})"})
	},
	"validate, a set": func(s *server, who, _, _, set string) answer {
		return s.tool(who, "koan.code.validate", map[string]any{"code": "SDK.Entities.Event.collection({set: '" + set + "'})"})
	},
	"a script": func(s *server, who, entity, _, _ string) answer { return s.script(who, "typeof SDK.Entities."+entity) },
	"a script's call": func(s *server, who, entity, _, _ string) answer {
		return s.script(who, "SDK.Entities."+entity+".collection()")
	},
	"a module's call": func(s *server, who, entity, _, _ string) answer {
		return s.script(who, "import { "+strings.ToLower(entity)+"_collection as f } from '@codemode/servers/koan'; await f({})")
	},
	"discovery": func(s *server, who, entity, _, _ string) answer {
		return s.script(who, "import { getTool } from '@codemode/discovery'; await getTool('koan', '"+strings.ToLower(entity)+".collection')")
	},
	"only": func(s *server, who, entity, _, _ string) answer { return s.script(who, "1", "only", entity) },
	"with": func(s *server, who, _, edge, _ string) answer {
		return s.tool(who, "event.collection", map[string]any{"with": edge})
	},
	"filter": func(s *server, who, _, edge, _ string) answer {
		return s.tool(who, "event.collection", map[string]any{"filter": map[string]any{edge: map[string]any{"$some": map[string]any{}}}})
	},
	"a model's edge": func(s *server, who, _, edge, _ string) answer {
		return s.tool(who, "event.upsert", map[string]any{"model": map[string]any{"id": "x", "title": "x", edge: []string{"ann"}}})
	},
	"a set": func(s *server, who, _, _, set string) answer {
		return s.tool(who, "event.count", map[string]any{"set": set})
	},
	"a script's set": func(s *server, who, _, _, set string) answer {
		return s.script(who, "SDK.Entities.Event.count({}, {set: '"+set+"'})")
	},
	"the run's set": func(s *server, who, _, _, set string) answer {
		return s.tool(who, "koan.code.execute", map[string]any{"code": "1", "set": set})
	},
}

// volatile is what differs from one run to the next.
var volatile = regexp.MustCompile(`"(runId|durationMs|timeMs|wallMs|cpuMs|peakMemoryBytes|executionTimeMs)\\*":\\*("[^"]*"|[0-9.]+)`)

func TestForbiddenNamesAppearNowhere(t *testing.T) {
	t.Parallel()
	s := rights(t)
	for name, ask := range projections {
		t.Run(name, func(t *testing.T) {
			narrow, wide := ask(s, "narrow"), ask(s, "wide")
			require.NotEqual(t, http.StatusUnauthorized, wide.status, wide.raw)
			require.Empty(t, hidden.FindAllString(strings.ReplaceAll(volatile.ReplaceAllString(narrow.raw, ""), "Nember", ""), -1), narrow.raw)
			require.NotEmpty(t, narrow.raw)
		})
	}
	// The lists would prove nothing if nobody saw more.
	for _, name := range []string{"tools", "all declarations", "modules", "an entity's", "argument", "template's name", "search by meaning", "with all", "the SDK", "servers module", "codemode.run", "discovery module", "a tool's name"} {
		require.Regexp(t, hidden, strings.ReplaceAll(projections[name](s, "wide").raw, "Nember", ""), name)
	}
}

// TestOtherSetsAppearNowhere: who may do everything, in other sets than an entity's,
// does not hear of it.
func TestOtherSetsAppearNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("far", "'*'", "branch-a")+token("wide", "'*'", "'*'"))
	s := serve(t, dir, "--server.tokensFile", tokens, "--codeMode.faces", "koan,codemode")
	poll, told := regexp.MustCompile(`(?i)poll`), 0
	for name, ask := range projections {
		far := ask(s, "far")
		require.NotEmpty(t, far.raw, name)
		require.Empty(t, poll.FindAllString(far.raw, -1), "%s: %s", name, far.raw)
		told += len(poll.FindAllString(ask(s, "wide").raw, -1))
	}
	require.NotZero(t, told, "it is there for others")
	require.Equal(t, "tool_not_found", s.tool("far", "poll.count", nil).code)
}

func TestHiddenLooksUnknown(t *testing.T) {
	t.Parallel()
	s := rights(t)
	for name, ask := range refusals {
		t.Run(name, func(t *testing.T) {
			told := ask(s, "narrow", "Member", "guests", "branch-a")
			unknown := ask(s, "narrow", "Nember", "xuests", "franch-a")
			clean := func(a answer) string {
				text := strings.NewReplacer("Member", "Nember", "member", "nember", "guests", "xuests", "branch-a", "franch-a").Replace(a.raw)
				return volatile.ReplaceAllString(text, "$1")
			}
			require.Equal(t, clean(unknown), clean(told))
			require.Equal(t, unknown.status, told.status)
			wide := ask(s, "wide", "Member", "guests", "branch-a")
			require.NotEqual(t, clean(told), clean(wide), "it is there for others")
		})
	}
}

// TestConcurrentCallers: each sees what is theirs, the same bytes every time.
func TestConcurrentCallers(t *testing.T) {
	s := rights(t)
	first := map[string]string{}
	lists := []string{"tools", "resources", "all declarations", "prompts", "discovery"}
	for _, who := range []string{"narrow", "wide"} {
		for _, list := range lists {
			first[who+list] = projections[list](s, who).raw
		}
	}
	require.NotEqual(t, first["narrowtools"], first["widetools"])
	require.NotEqual(t, first["narrowall declarations"], first["wideall declarations"])
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			who := []string{"narrow", "wide"}[n%2]
			for range 5 {
				for _, list := range lists {
					if got := projections[list](s, who).raw; got != first[who+list] {
						t.Errorf("%s of %s changed", list, who)
					}
				}
			}
		})
	}
	group.Wait()
}

// TestSchemaRulesSeeCaller: ent's privacy rules get the principal and its
// scopes by the context, from tools and from scripts.
func TestSchemaRulesSeeCaller(t *testing.T) {
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("ann", "'entities:write'", "default")+token("bob", "'entities:write'", "default")+token("eve", "'entities:write', 'diary:any'", "default"))
	s := serve(t, dir, "--server.tokensFile", tokens)
	for who, may := range map[string]bool{"ann": true, "bob": false, "eve": true} {
		write := s.tool(who, "diary.upsert", map[string]any{"model": map[string]any{"id": who, "text": who}})
		read := s.tool(who, "diary.count", nil)
		script := s.script(who, "SDK.Entities.Diary.upsert({id: 'script', text: 'by script'}); SDK.Entities.Diary.count()")
		for _, got := range []answer{write, read, script} {
			if may {
				require.Empty(t, got.fault(), "%s: %s", who, got.raw)
			} else {
				require.Equal(t, "forbidden", got.fault(), "%s: %s", who, got.raw)
			}
		}
	}
}

// TestFieldScopes: a field that a caller may not read is in no type, result,
// filter or sort.
func TestFieldScopes(t *testing.T) {
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("some", "'member:read'", "default")+token("more", "'member:read', 'member:phone'", "default"))
	s := serve(t, dir, "--server.tokensFile", tokens)
	read := func(who string) answer { return s.tool(who, "member.get-by-id", map[string]any{"id": "ann"}) }
	require.Equal(t, "12345", read("more").data()["phone"])
	require.NotContains(t, read("some").raw, "phone")
	for _, ask := range []func(who string) answer{
		func(who string) answer {
			return s.ask(who, "resources/read", map[string]any{"uri": "koan://sdk/Member.d.ts"})
		},
		func(who string) answer {
			return s.tool(who, "entities.describe", map[string]any{"entities": []string{"Member"}})
		},
	} {
		require.NotContains(t, ask("some").raw, "phone")
		require.Contains(t, ask("more").raw, "phone")
	}
	for _, in := range []map[string]any{
		{"filter": map[string]any{"phone": "12345"}}, {"sort": "phone"}, {"fields": []string{"phone"}},
	} {
		require.Empty(t, s.tool("more", "member.collection", in).fault(), in)
		require.Equal(t, "invalid_payload", s.tool("some", "member.collection", in).fault(), in)
	}
}
