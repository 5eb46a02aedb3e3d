package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

// task is a workflow of PantryPal with what it is tried with: see testdata/workflows.yaml there.
type task struct{ Name, Setup, Input string }

// way is one way to do a task: its calls, what it puts into a context, and how long they took.
type way struct {
	calls int
	cost
	took time.Duration
}

// errand is a task, done in three ways.
type errand struct {
	task   string
	single way // each call of an entity or plugin by itself, with generic tools
	script way // the workflow's source as the script of one call; no calls where it is written in Go
	action way // one call that names the action
}

// evening is when the tasks are done: the same moment for everybody who counts.
func evening() time.Time { return time.Date(2026, 11, 23, 17, 0, 0, 0, time.UTC) }

// errands does PantryPal's workflows, each in each way over a copy of the same data; without
// those that read no rows.
func errands(c counter, plugins, sample string, only ...string) ([]errand, error) {
	raw, err := os.ReadFile(filepath.Join(sample, "testdata", "workflows.yaml"))
	if err != nil {
		return nil, err
	}
	var tasks []task
	if err := yaml.Unmarshal(raw, &tasks); err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "koan-tokens-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	filled, err := openKitchen(c, filepath.Join(data, "filled"), plugins, sample)
	if err != nil {
		return nil, err
	}
	filled.close()
	var out []errand
	for _, t := range tasks {
		if len(only) > 0 && !slices.Contains(only, t.Name) {
			continue
		}
		copied := filepath.Join(data, t.Name)
		if err := os.CopyFS(copied, os.DirFS(filled.folder)); err != nil {
			return nil, err
		}
		e, err := filled.do(t, copied)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		if e.single.calls > 0 {
			out = append(out, e)
		}
	}
	return out, nil
}

// kitchen is PantryPal over a folder, with a client of MCP.
type kitchen struct {
	counter
	folder, plugins, sample string
	app                     *framework.Instance
	client                  *client.Client
}

func openKitchen(c counter, folder, plugins, sample string) (*kitchen, error) {
	plugins, err := filepath.Abs(plugins)
	if err != nil {
		return nil, err
	}
	k := &kitchen{counter: c, folder: folder, plugins: plugins, sample: sample}
	k.app, err = framework.New(context.Background(), app.At(evening), framework.Options{
		Log: slog.New(slog.DiscardHandler),
		Config: framework.Source{Flags: map[string]string{
			"database": "sqlite://" + folder, "plugins.dir": plugins, "plugins.vision.root": filepath.Join(sample, "testdata"), "approval.mode": "never", "approval.rules": "[]",
		}},
	})
	if err != nil {
		return nil, err
	}
	stream, err := k.app.Connect(context.Background(), auth.Local())
	if err != nil {
		return nil, errors.Join(err, k.app.Stop(context.Background()))
	}
	k.client = client.NewClient(transport.NewIO(stream, stream, io.NopCloser(strings.NewReader(""))))
	if err = k.client.Start(context.Background()); err == nil {
		_, err = k.client.Initialize(context.Background(), mcp.InitializeRequest{})
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *kitchen) close() {
	_ = k.client.Close()
	_ = k.app.Stop(context.Background())
}

// do does a task over a copy of the data: by name, by its source, and call by call, with an
// undo between them.
func (k *kitchen) do(t task, copied string) (errand, error) {
	e := errand{task: t.Name}
	k, err := openKitchen(k.counter, copied, k.plugins, k.sample)
	if err != nil {
		return e, err
	}
	defer k.close()
	before := executed{Result: json.RawMessage("null")}
	if t.Setup != "" {
		if before, err = k.execute(execution{Code: t.Setup}); err != nil {
			return e, err
		}
	}
	input, err := k.execute(execution{Code: "const before = SDK.args; (" + t.Input + ")", Args: before.Result}) // what the model knows by then
	if err != nil {
		return e, err
	}
	named := fmt.Sprintf("SDK.Out.answer(SDK.Actions.%s(%s))", scripted(t.Name), input.Result)
	plain, err := k.withoutActions()
	if err != nil {
		return e, err
	}
	var after string
	if e.action, after, err = k.undone(named, k.app.Snapshot()); err != nil {
		return e, err
	}
	source, err := os.ReadFile(filepath.Join(k.sample, "actions", t.Name+".js"))
	if err == nil {
		if e.script, _, err = k.undone(asScript(string(source), string(input.Result)), plain); err != nil {
			return e, err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return e, err
	}
	calls, entities, err := k.record(named)
	if err != nil {
		return e, err
	}
	if len(calls) == 0 {
		return e, nil // it looks into the app's own memory, for which no tool is
	}
	if e.single, err = k.oneByOne(calls, plain, entities); err != nil {
		return e, err
	}
	same, err := k.rows()
	if err == nil && same != after {
		err = fmt.Errorf("single calls left %s, the script %s", same, after)
	}
	return e, err
}

// scripted is an action's name in scripts.
func scripted(name string) string {
	return regexp.MustCompile(`-[a-z]`).ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
}

var declaration = regexp.MustCompile(`(?s)export const action = \{.*?\n\};\n`)

// asScript is an action's source as somebody writes it who has no such action.
func asScript(source, input string) string {
	code := declaration.ReplaceAllString(source, "")
	return strings.Replace(code, "export default (", "const work = (", 1) + "\nSDK.Out.answer(work(" + input + "));"
}

// executed is what of koan.code.execute's result counts here.
type executed struct {
	RunID        string
	Result       json.RawMessage
	ChangeCounts []json.RawMessage
	text         string
	took         time.Duration
}

func (k *kitchen) execute(in execution) (executed, error) {
	var out executed
	var err error
	if out.text, out.took, err = k.call("koan.code.execute", in); err != nil {
		return out, err
	}
	return out, json.Unmarshal([]byte(out.text), &out)
}

// call calls a tool, and returns the text of its result.
func (k *kitchen) call(tool string, arguments any) (string, time.Duration, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, arguments
	started := time.Now()
	got, err := k.client.CallTool(context.Background(), r)
	took := time.Since(started)
	if err != nil {
		return "", took, err
	}
	text := ""
	for _, part := range got.Content {
		if p, ok := part.(mcp.TextContent); ok {
			text += p.Text
		}
	}
	if got.IsError {
		return "", took, fmt.Errorf("%s: %s", tool, text)
	}
	return text, took, nil
}

// undone runs a script, returns what it costs and what rows it leaves, and undoes it.
func (k *kitchen) undone(source string, offered *catalog.Snapshot) (w way, left string, err error) {
	w.calls = 1
	got, err := k.execute(execution{Code: source})
	if err != nil {
		return w, "", err
	}
	w.took = got.took
	if w.definitions, err = k.count(code.list(offered)); err != nil {
		return w, "", err
	}
	asked, err := json.Marshal(map[string]any{"name": "koan_code_execute", "arguments": execution{Code: source}})
	if err != nil {
		return w, "", err
	}
	if w.arguments, err = k.count(asked); err != nil {
		return w, "", err
	}
	if w.results, err = k.countAll(got.text); err != nil {
		return w, "", err
	}
	if left, err = k.rows(); err != nil || len(got.ChangeCounts) == 0 {
		return w, left, err
	}
	_, _, err = k.call("koan.code.undo", map[string]any{"runId": got.RunID})
	return w, left, err
}

// rows returns how many rows each entity has, and how much is in the house.
func (k *kitchen) rows() (string, error) {
	got, err := k.execute(execution{Code: `const n = {}; for (const e of Object.keys(SDK.Entities)) n[e] = SDK.Entities[e].count();
		[n, SDK.Entities.PantryItem.aggregate({sum: ["amount"], groupBy: ["unit", "status"]}), SDK.Entities.ShoppingItem.aggregate({sum: ["amount"], groupBy: ["unit", "bought"]})]`})
	return string(got.Result), err
}

// record returns the calls of entities and plugins that a script makes, and which entities
// they are about. Nothing is left of them.
func (k *kitchen) record(source string) ([]*call, []string, error) {
	input, err := json.Marshal(execution{Code: source})
	if err != nil {
		return nil, nil, err
	}
	r := &recorder{at: map[string]int{}}
	heard, err := r.listen(k.app.Snapshot())
	if err != nil {
		return nil, nil, err
	}
	if _, err := carryOut(k.app, heard, input, true); err != nil {
		return nil, nil, err
	}
	var calls []*call
	var entities []string
	for _, one := range r.calls {
		switch one.id.Kind {
		case catalog.KindEntity:
			if !slices.Contains(entities, one.id.Owner) {
				entities = append(entities, one.id.Owner)
			}
		case catalog.KindAction:
			continue // what it calls stands here by itself
		}
		calls = append(calls, one.generically(heard))
	}
	return calls, entities, nil
}

// oneByOne makes calls with tools, one after the other. Where a result has another value than
// it had when the calls were recorded, as ids do, later calls have it too.
func (k *kitchen) oneByOne(calls []*call, plain *catalog.Snapshot, entities []string) (way, error) {
	w := way{calls: len(calls) + 1}
	var err error
	if w.definitions, err = k.count(generic.list(plain)); err != nil {
		return w, err
	}
	if w.results, err = described(k.counter, k.app.Snapshot(), k.app, entities); err != nil {
		return w, err
	}
	now := map[string]string{}
	for _, one := range calls {
		var arguments any
		if err := json.Unmarshal(one.Arguments, &arguments); err != nil {
			return w, err
		}
		arguments = renamed(arguments, now)
		text, took, err := k.call(one.Name, arguments)
		if err != nil {
			return w, err
		}
		w.took += took
		asked, err := json.Marshal(map[string]any{"name": one.Name, "arguments": arguments})
		if err != nil {
			return w, err
		}
		for _, add := range []struct {
			to   *int
			text string
		}{{&w.arguments, string(asked)}, {&w.results, text}} {
			n, err := k.countAll(add.text)
			if err != nil {
				return w, err
			}
			*add.to += n
		}
		var was, is any
		if json.Unmarshal(one.result, &was) == nil && json.Unmarshal([]byte(text), &is) == nil {
			compare(was, is, now)
		}
	}
	return w, nil
}

// withoutActions is what the app offers but its actions.
func (k *kitchen) withoutActions() (*catalog.Snapshot, error) {
	s := k.app.Snapshot()
	o := catalog.Offer{Resources: s.Resources()}
	for _, op := range s.Operations() {
		if op.ID.Kind != catalog.KindAction {
			o.Operations = append(o.Operations, op)
		}
	}
	return catalog.NewSnapshot(o)
}

// compare notes which texts of a result are others now.
func compare(was, is any, now map[string]string) {
	switch was := was.(type) {
	case string:
		if is, ok := is.(string); ok && is != was {
			now[was] = is
		}
	case []any:
		is, _ := is.([]any)
		for i := range min(len(was), len(is)) {
			compare(was[i], is[i], now)
		}
	case map[string]any:
		is, _ := is.(map[string]any)
		for name := range was {
			compare(was[name], is[name], now)
		}
	}
}

// renamed is a value with texts as they are now.
func renamed(v any, now map[string]string) any {
	switch v := v.(type) {
	case string:
		if is, ok := now[v]; ok {
			return is
		}
	case []any:
		for i := range v {
			v[i] = renamed(v[i], now)
		}
	case map[string]any:
		for name := range v {
			v[name] = renamed(v[name], now)
		}
	}
	return v
}
