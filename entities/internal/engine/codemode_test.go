package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// scripting is an app with code mode beside its entities, as its caller sees it.
type scripting struct {
	*app
	code catalog.Provider
	view *catalog.View
}

// withCodeMode starts code mode for an app. Scripts run in the test's own process.
func (a *app) withCodeMode() *scripting {
	a.Helper()
	code := codemode.Provide(codemode.Options{})
	h := codeHost{host{}, map[string]any{}}
	for _, s := range code.(catalog.Configurable).Settings() {
		h.set[s.Key] = s.Default
	}
	require.NoError(a, code.Start(context.Background(), h))
	a.Cleanup(func() { require.NoError(a, code.Stop(context.Background())) })
	s, err := catalog.NewSnapshot(a.provider.Offer(), code.Offer())
	require.NoError(a, err)
	return &scripting{app: a, code: code, view: s.View(a.as, a.view.Mode(), false)}
}

// declarations returns a document of the declarations: of everything, or of the
// entity named.
func (s *scripting) declarations(entity string) string {
	s.Helper()
	uri := "koan://sdk/koan.d.ts"
	if entity != "" {
		uri = "koan://sdk/{name}.d.ts"
	}
	for _, d := range s.code.Offer().Documents {
		if d.URI == uri {
			text, err := d.Read(context.Background(), s.view, entity)
			require.NoError(s, err)
			return string(text)
		}
	}
	require.Fail(s, "there is no document "+uri)
	return ""
}

// types returns the declarations of one entity.
func (a *app) types(entity string) string {
	a.Helper()
	return a.withCodeMode().declarations(entity)
}

// call calls an operation of code mode as the program itself does, which may also where
// no surface shows it.
func (s *scripting) call(op string, input map[string]any, into any) {
	s.Helper()
	out, _, err := s.engine.Invoke(context.Background(), run.Request{View: s.view, Principal: s.as, ID: catalog.CodeID("koan", op), Input: encode(s, input), Surface: "app"})
	require.NoError(s, err)
	require.NoError(s, json.Unmarshal(out, into))
}

// found returns the declaration that a search for an entity finds.
func (s *scripting) found(entity string) string {
	s.Helper()
	var out struct {
		Results []struct{ Name, Declaration string }
	}
	s.call("search", map[string]any{"query": entity, "detail": "full", "limit": 50}, &out)
	for _, r := range out.Results {
		if r.Name == "SDK.Entities."+entity {
			return r.Declaration
		}
	}
	require.Fail(s, "search does not find "+entity)
	return ""
}

// entities returns the entities that SDK has in a script.
func (s *scripting) entities() []string {
	s.Helper()
	var ran struct{ Result []string }
	s.call("execute", map[string]any{"code": "Object.keys(SDK.Entities)"}, &ran)
	return ran.Result
}

// diagnostic is one finding of a check.
type diagnostic struct {
	Code, Message, Hint string
	Line                int
}

// checked returns what a check of a script finds.
func (s *scripting) checked(code string) []diagnostic {
	s.Helper()
	var verdict struct{ Diagnostics []diagnostic }
	s.call("validate", map[string]any{"code": code}, &verdict)
	return verdict.Diagnostics
}

// relationships returns, of each entity that SDK has, the relationships that a check of
// a script knows there; none of entities that nothing is read of.
func (s *scripting) relationships() map[string][]string {
	s.Helper()
	entities := s.entities()
	var code strings.Builder
	for _, e := range entities {
		fmt.Fprintf(&code, "SDK.Entities.%[1]s.collection({with: 'x.y'}); SDK.Entities.%[1]s.getById(SDK.args.id, {with: 'x.y'});\n", e)
	}
	out := map[string][]string{}
	for _, e := range entities {
		out[e] = nil
	}
	for _, d := range s.checked(code.String()) {
		if d.Code != "unknown_relationship" {
			require.Equal(s, "unknown_method", d.Code, d.Message)
			continue
		}
		e := entities[d.Line-1]
		if names, some := strings.CutPrefix(d.Hint, "There are: "); some {
			out[e] = strings.Split(strings.TrimSuffix(names, "."), ", ")
		} else {
			require.Contains(s, d.Message, "has no relationships")
			out[e] = []string{}
		}
	}
	for e, known := range out {
		r := s.view.Resource(e)
		require.Equal(s, r.Has("collection") || r.Has("get-by-id"), known != nil, "%s %v", e, out)
	}
	return out
}

// names returns what a check of scripts says of fields and relationships that there are
// not: it lists those that there are.
func (s *scripting) names() string {
	s.Helper()
	var code strings.Builder
	for _, e := range s.entities() {
		fmt.Fprintf(&code, "SDK.Entities.%[1]s.collection({with: 'x.y'}); SDK.Entities.%[1]s.count({'x.y': 1}); SDK.Entities.%[1]s.upsert({'x.y': 1});\n", e)
	}
	found := s.checked(code.String())
	require.NotEmpty(s, found)
	return fmt.Sprint(found)
}

// codeHost is a host with code mode's settings.
type codeHost struct {
	host
	set map[string]any
}

func (h codeHost) Settings() catalog.Values { return codeValues{values{}, h.set} }

type codeValues struct {
	values
	set map[string]any
}

func (v codeValues) Bool(key string) bool        { return v.set[key].(bool) }
func (v codeValues) Int(key string) int          { return v.set[key].(int) }
func (v codeValues) String(key string) string    { return v.set[key].(string) }
func (v codeValues) Strings(key string) []string { return v.set[key].([]string) }
func (v codeValues) Duration(key string) time.Duration {
	return time.Duration(v.Int(key)) * time.Millisecond
}
