package codemode

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// verdict is what koan.code.validate says.
type verdict struct {
	Valid       bool
	Diagnostics []struct{ Severity, Code, Message, Hint, Path string }
}

func validated(t *testing.T, k *koantest.Kit, code string) (v verdict) {
	t.Helper()
	out, err := k.Call("code::koan.validate", map[string]any{"code": code})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &v))
	return v
}

// wrongPaths are the places in the input that a run was refused for.
func wrongPaths(t *testing.T, f *fault.Fault) []string {
	t.Helper()
	var details []fault.Detail
	raw, err := json.Marshal(f.Details)
	require.NoError(t, err)
	_ = json.Unmarshal(raw, &details) // those of other faults are no list
	paths := []string{f.Path}
	for _, d := range details {
		paths = append(paths, d.Path)
	}
	return paths
}

// Whatever literals a call has: what validate rejects the run rejects too, at the same
// place, and what runs is valid. With parts that only the run knows, that holds for
// every value of theirs.
func TestValidateRejectsLiteralsLikeRun(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	rejected, ran := 0, 0
	for seed := range uint64(1200) {
		g := &calls{Rand: rand.New(rand.NewPCG(seed, 7))}
		code := g.call()
		v := validated(t, k, code)
		for range 1 + 3*min(g.holes, 1) {
			args := map[string]any{}
			for i := range g.holes {
				args[fmt.Sprint("x", i)] = g.scalarValue()
			}
			r := k.Try(code, koantest.Input{DryRun: true, Args: args})
			if r.Success {
				ran++
				require.True(t, v.Valid, "%s\n%+v", code, v)
			}
			for _, d := range v.Diagnostics {
				require.False(t, r.Success, "%s\n%+v", code, v)
				require.Contains(t, []fault.Code{fault.InvalidPayload, fault.UnknownSet}, r.Error.Code, "%s\n%+v\n%+v", code, d, r.Error)
				if d.Path != "" && g.holes == 0 { // else the other value may be what is looked at first
					require.Contains(t, wrongPaths(t, r.Error), d.Path, "%s\n%+v\n%+v", code, d, r.Error)
				}
			}
			if !r.Success && g.holes == 0 && r.Error.Code == fault.InvalidPayload && !strings.Contains(r.Error.Message, "there is no") {
				rejected++
				require.False(t, v.Valid, "%s\n%+v", code, r.Error)
			}
		}
	}
	require.Greater(t, rejected, 70)
	require.Greater(t, ran, 100)
}

// The validators of an ent schema hold their limits in Go, where no declaration shows them.
func TestValidateUsesEntValidators(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	const todo = `SDK.Entities.Todo.upsert({id: "t", title: "t"}); `
	for code, path := range map[string]string{
		todo + `SDK.Entities.Step.upsert({todo: "t", text: ""})`:                                                     "/model/text",
		todo + `SDK.Entities.Step.upsert({id: "s", todo: "t", text: ""}, {replace: true})`:                           "/model/text",
		todo + `SDK.Entities.Step.upsertMany([{todo: "t", text: "a"}, {todo: "t", text: ""}])`:                       "/models/1/text",
		todo + `SDK.Entities.Step.upsert({id: "s", todo: "t", text: "a"}); SDK.Entities.Step.patch("s", {text: ""})`: "/changes/text",
	} {
		v := validated(t, k, code)
		require.False(t, v.Valid, code)
		require.Len(t, v.Diagnostics, 1, code)
		require.Equal(t, path, v.Diagnostics[0].Path, code)
		require.Contains(t, v.Diagnostics[0].Message, "cannot be empty", code)
		r := k.Try(code, koantest.Input{DryRun: true})
		require.False(t, r.Success, code)
		require.Equal(t, fault.InvalidPayload, r.Error.Code, "%s\n%+v", code, r.Error)
		require.Contains(t, wrongPaths(t, r.Error), path, code)
	}
	for _, code := range []string{
		todo + `SDK.Entities.Step.upsert({todo: "t", text: SDK.args.text})`,
		`SDK.Entities.Step.updateByQuery({text: "none"}, {text: ""})`, // changes nothing
	} {
		v := validated(t, k, code)
		require.True(t, v.Valid, "%s\n%+v", code, v)
		r := k.Try(code, koantest.Input{DryRun: true, Args: map[string]any{"text": "a"}})
		require.True(t, r.Success, "%s\n%+v", code, r.Error)
	}
}

// What the worker refuses of an input is found before it is sent: the same is refused by
// both, at the same place.
func TestValidateRejectsWhatTheWorkerRefuses(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for code, path := range map[string]string{
		`SDK.Entities.Todo.all(5)`:                                                                "",
		`SDK.Entities.Todo.collection(true)`:                                                      "",
		`SDK.Entities.Todo.all([{filter: {}}])`:                                                   "",
		`SDK.Entities.Todo.getById("x", 5)`:                                                       "",
		`SDK.Entities.Todo.count({title: undefined})`:                                             "/filter/title",
		`SDK.Entities.Todo.count({title: {$eq: undefined}})`:                                      "/filter/title/$eq",
		`SDK.Entities.Todo.all({filter: {$or: [{completed: true}, {title: undefined}]}})`:         "/filter/$or/1/title",
		`SDK.Entities.Todo.all({filter: {title: {$in: ["a", undefined]}}})`:                       "/filter/title/$in/1",
		`SDK.Entities.Todo.all({with: {labels: {filter: {name: undefined}}}})`:                    "/with/labels/filter/name",
		`const filter = {title: undefined}; SDK.Entities.Todo.all({filter})`:                      "/filter/title",
		`SDK.Entities.Todo.updateByQuery({title: undefined}, {completed: true}, {all: true})`:     "/filter/title",
		`SDK.Entities.Todo.deleteByQuery({...SDK.args, title: undefined, views: 1}, {all: true})`: "/filter/title",
	} {
		v := validated(t, k, code)
		require.Len(t, v.Diagnostics, 1, code)
		r := k.Try(code, koantest.Input{DryRun: true, Args: map[string]any{}})
		require.False(t, r.Success, code)
		require.Equal(t, fault.InvalidPayload, r.Error.Code, code)
		require.Equal(t, path, v.Diagnostics[0].Path, code)
		require.Equal(t, path, r.Error.Path, "%s\n%+v", code, r.Error)
		require.Equal(t, r.Error.Message, v.Diagnostics[0].Message, code)
	}
	for _, code := range []string{
		`SDK.Entities.Todo.all(undefined)`, `SDK.Entities.Todo.all(null)`, `SDK.Entities.Todo.count(undefined)`, `SDK.Entities.Todo.all({filter: undefined})`,
		`SDK.Entities.Todo.all({with: {labels: {filter: undefined}}})`, `SDK.Entities.Todo.all({filter: {title: undefined, ...{title: "x"}}})`,
		`SDK.Entities.Todo.all({filter: {title: SDK.args.title ? undefined : "x"}})`,
		`const filter = {title: undefined}; filter.title = "x"; SDK.Entities.Todo.all({filter})`,
		`const undefined = "x"; SDK.Entities.Todo.all({filter: {title: undefined}})`,
	} {
		if strings.HasPrefix(code, "const undefined") {
			code = "(() => { " + code + " })()"
		}
		require.True(t, validated(t, k, code).Valid, "%s\n%+v", code, validated(t, k, code))
		r := k.Try(code, koantest.Input{DryRun: true, Args: map[string]any{}})
		require.True(t, r.Success, "%s\n%+v", code, r.Error)
	}
}

// calls writes calls of Todo, right ones and wrong ones.
type calls struct {
	*rand.Rand
	holes int // parts that only the run knows
}

func (g *calls) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *calls) scalarValue() any {
	return []any{nil, true, 3, -1.5, "x", "high", "2026-01-31T08:00:00Z", "id"}[g.IntN(8)]
}

// scalar is a literal, or now and then something that the run computes.
func (g *calls) scalar() string {
	if g.IntN(12) == 0 {
		g.holes++
		return fmt.Sprintf("SDK.args.x%d", g.holes-1)
	}
	b, _ := json.Marshal(g.scalarValue())
	return string(b)
}

// likely is the right kind of value for a field, mostly.
func (g *calls) likely(field string) string {
	if g.IntN(5) == 0 {
		return g.scalar()
	}
	switch field {
	case "title", "notes":
		return g.one(`"Milk"`, `"x"`)
	case "priority":
		return g.one(`"low"`, `"high"`)
	case "dueDate":
		return `"2026-01-31T08:00:00Z"`
	case "effort", "views":
		return g.one("1", "20")
	case "completed":
		return g.one("true", "false")
	}
	return `"x"`
}

var todoFields = []string{"title", "priority", "dueDate", "effort", "views", "completed", "notes"}

func (g *calls) field() string {
	if g.IntN(25) == 0 {
		return g.one("titel", "secret", "colour", "__proto__x")
	}
	return g.one(todoFields...)
}

func (g *calls) object(most int, member func() string) string {
	var out []string
	for range g.IntN(most + 1) {
		m := member()
		if name, _, _ := strings.Cut(m, ":"); !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, name+":") }) {
			out = append(out, m)
		}
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func (g *calls) model() string {
	return g.object(4, func() string { f := g.field(); return f + ": " + g.likely(f) })
}

func (g *calls) filter(depth int) string {
	return g.object(3, func() string {
		switch n := g.IntN(10); {
		case n == 0 && depth > 0:
			return g.one("$and", "$or", "$nor") + ": [" + g.filter(depth-1) + ", " + g.filter(depth-1) + "]"
		case n == 1 && depth > 0:
			return "$not: " + g.filter(depth-1)
		case n == 2:
			return "steps: {" + g.one("$some", "$every", "$none", "$has") + ": {text: " + g.likely("notes") + "}}"
		case n < 6:
			f := g.field()
			op := g.one("$eq", "$ne", "$gt", "$lte", "$in", "$between", "$contains", "$null", "$like")
			v := g.likely(f)
			switch op {
			case "$in":
				v = "[" + v + ", " + g.likely(f) + "]"
			case "$between":
				v = g.one("["+v+", "+g.likely(f)+"]", "["+v+"]")
			case "$null":
				v = g.one("true", v)
			}
			return f + ": {" + op + ": " + v + "}"
		}
		f := g.field()
		return f + ": " + g.likely(f)
	})
}

func (g *calls) options(names ...string) string {
	return g.object(3, func() string {
		name := g.one(names...)
		switch name {
		case "filter":
			return name + ": " + g.filter(1)
		case "sort", "fields":
			return name + ": " + g.one(`"title"`, `["title", "-dueDate"]`, `"nope"`, g.scalar())
		case "with":
			return name + ": " + g.one(`"steps"`, `"all"`, `{steps: {limit: 3}}`, `{steps: {limit: `+g.scalar()+`}}`, `"nothing"`)
		case "pageSize", "page", "limit", "maxAffected", "ifVersion":
			return name + ": " + g.one("1", "20", "500", "0", g.scalar())
		case "set":
			return name + ": " + g.one(`"default"`, `"nowhere"`, g.scalar())
		case "groupBy", "sum", "avg", "max":
			return name + ": " + g.one(`"priority"`, `"effort"`, `["effort"]`, `"title"`, g.scalar())
		case "having":
			return name + ": {" + g.one("count", "sumEffort") + ": {$gt: " + g.likely("effort") + "}}"
		}
		return name + ": " + g.one("true", "false", g.scalar())
	})
}

func (g *calls) call() string {
	pages := []string{"filter", "sort", "pageSize", "page", "with", "fields", "count", "set"}
	text := g.one(
		"collection("+g.options(pages...)+")", "firstPage("+g.one("5", "500", g.scalar())+", "+g.options(pages...)+")", "page("+g.scalar()+", 10)",
		"all("+g.options("filter", "sort", "with")+")", "count("+g.filter(2)+")", "aggregate("+g.options("groupBy", "sum", "avg", "max", "count", "having", "sort", "limit", "filter")+")",
		"getById("+g.one("", `"nope"`, g.scalar())+")", "upsert("+g.one(g.model(), g.scalar())+", "+g.options("replace", "set", "ifVersion")+")",
		"upsertMany(["+g.model()+", "+g.model()+"])", "patch("+g.scalar()+", "+g.model()+")", "updateByQuery("+g.filter(1)+", "+g.model()+", "+g.options("maxAffected", "all", "set")+")",
		"deleteByQuery("+g.filter(1)+", "+g.options("maxAffected", "all")+")", "delete("+g.scalar()+")", "deleteMany(["+g.scalar()+", "+g.scalar()+"])",
	)
	return "SDK.Entities.Todo." + text
}

// Whatever a script finds in SDK.Out and SDK.Files is known to the check, called as it is declared.
func TestFunctionsOfTheSystemAreKnown(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for owner, call := range map[string]string{"Out": `(1)`, "Files": `("file_x")`} {
		var names []string
		k.Run(`Object.keys(SDK.`+owner+`).concat(Object.getOwnPropertyNames(SDK.`+owner+`))`, koantest.Input{}).ResultInto(&names)
		require.GreaterOrEqual(t, len(names), 4, owner)
		for _, name := range names {
			if name == "create" { // which takes what the file is
				continue
			}
			v := validated(t, k, "SDK."+owner+"."+name+call)
			require.True(t, v.Valid, "%s.%s: %+v", owner, name, v)
		}
	}
	require.True(t, validated(t, k, `const f = SDK.Files.create({name: "a.txt", type: "text/plain", text: "x"}); SDK.Out.file(f.id); SDK.Out.file(f); SDK.Files.text(f.id)`).Valid)
	require.False(t, validated(t, k, `SDK.Files.get(7)`).Valid)
}
