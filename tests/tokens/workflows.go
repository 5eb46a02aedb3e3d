package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/run"
)

// arguments are what PantryPal's scripts are called with.
var arguments = map[string]any{"grocery-haul.js": map[string]any{"photo": "haul.png"}}

// conversation is one workflow, done in several ways, in tokens.
type conversation struct {
	script string
	calls  int
	each   cost // a tool for each entity and operation
	tools  cost // generic tools
	code   cost
	// entities are those that the calls are about, and described what it takes to have them
	// described, which is among the results of generic tools.
	entities  []string
	described int
}

// cost is what a conversation puts into a context, each part once.
type cost struct{ definitions, arguments, results int }

func (c cost) total() int { return c.definitions + c.arguments + c.results }

// call is one tool call as a client sees it.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	result    json.RawMessage
	id        catalog.ID
}

// generically is the call as one of a tool for all entities.
func (c *call) generically(s *catalog.Snapshot) *call {
	if c.id.Kind != catalog.KindEntity {
		return c
	}
	rest := strings.TrimPrefix(string(c.Arguments), "{")
	if rest != "}" {
		rest = "," + rest
	}
	arguments := json.RawMessage(`{"entity":"` + c.id.Owner + `"` + rest)
	return &call{catalog.Underscored(s.ToolName(catalog.Generic(c.id.Op))), arguments, c.result, c.id}
}

// workflows runs PantryPal's scripts, each once, and counts what it took. A client
// without scripts would make the calls that a script makes, one by one, each with
// its result in the context.
func workflows(c counter, app *framework.Instance, sample string) ([]conversation, error) {
	files, err := filepath.Glob(filepath.Join(sample, "scripts", "*.js"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no scripts (%w)", sample, err)
	}
	var out []conversation
	for _, file := range files {
		w, err := converse(c, app, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, w)
	}
	return out, nil
}

func converse(c counter, app *framework.Instance, file string) (conversation, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return conversation{}, err
	}
	name := filepath.Base(file)
	return execute(c, app, name, execution{Code: string(text), Args: arguments[name]})
}

// execution is the input of koan.code.execute.
type execution struct {
	Code   string `json:"code"`
	Args   any    `json:"args,omitempty"`
	DryRun bool   `json:"-"` // a conversation has the script carried out: its tokens do not count
}

// execute runs a script once, and counts what it took.
func execute(c counter, app *framework.Instance, name string, in execution) (conversation, error) {
	w := conversation{script: name}
	raw, err := json.Marshal(in)
	if err != nil {
		return w, err
	}
	r := &recorder{at: map[string]int{}}
	snapshot, err := r.listen(app.Snapshot())
	if err != nil {
		return w, err
	}
	out, err := carryOut(app, snapshot, raw, in.DryRun)
	if err != nil {
		return w, fmt.Errorf("the script failed: %w", err)
	}
	w.calls = len(r.calls)
	if w.each, err = c.costs(snapshot, perEntity, r.calls); err != nil {
		return w, err
	}
	var all []*call
	for _, one := range r.calls {
		all = append(all, one.generically(snapshot))
		if one.id.Kind == catalog.KindEntity && !slices.Contains(w.entities, one.id.Owner) {
			w.entities = append(w.entities, one.id.Owner)
		}
	}
	if w.tools, err = c.costs(snapshot, generic, all); err != nil {
		return w, err
	}
	if w.described, err = described(c, app.Snapshot(), app, w.entities); err != nil { // whose fields no list has
		return w, err
	}
	w.tools.results += w.described
	id := catalog.CodeID("koan", "execute")
	w.code, err = c.costs(snapshot, code, []*call{{catalog.Underscored(snapshot.ToolName(id)), raw, out, id}})
	return w, err
}

// carryOut runs a script and returns the result. That of a dry run is what the run itself
// would return: without the list of changes.
func carryOut(app *framework.Instance, snapshot *catalog.Snapshot, input json.RawMessage, dryRun bool) (json.RawMessage, error) {
	if dryRun {
		input = json.RawMessage(strings.TrimSuffix(string(input), "}") + `,"dryRun":true}`)
	}
	out, _, err := app.Engine().Invoke(context.Background(), run.Request{
		View: snapshot.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.CodeID("koan", "execute"), Input: input, Surface: "app",
	})
	if err != nil || !dryRun {
		return out, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(out, &members); err != nil {
		return nil, err
	}
	delete(members, "changes")
	return json.Marshal(members)
}

// costs counts a conversation: the definitions, then each call and its result.
func (c counter) costs(s *catalog.Snapshot, l listing, calls []*call) (out cost, err error) {
	if out.definitions, err = c.count(l.list(s)); err != nil {
		return out, err
	}
	for _, one := range calls {
		asked, err := json.Marshal(one)
		if err != nil {
			return out, err
		}
		n, err := c.count(asked)
		if err != nil {
			return out, err
		}
		out.arguments += n
		if n, err = c.count(one.result); err != nil {
			return out, err
		}
		out.results += n
	}
	return out, nil
}

// recorder hears the calls of a run.
type recorder struct {
	mu    sync.Mutex
	calls []*call
	at    map[string]int // by the call's key: a later attempt replaces an earlier one
}

// listen returns a snapshot whose operations report their calls to the recorder.
func (r *recorder) listen(s *catalog.Snapshot) (*catalog.Snapshot, error) {
	o := catalog.Offer{Resources: s.Resources()}
	for _, op := range s.Operations() {
		heard := *op
		if op.ID.Kind != catalog.KindCode {
			name := catalog.Underscored(s.ToolName(op.ID))
			heard.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
				out, err := op.Handler(ctx, c)
				if err == nil {
					r.note(c.Key(), &call{name, plain(c.Input()), out, op.ID})
				}
				return out, err
			}
		}
		o.Operations = append(o.Operations, &heard)
	}
	return catalog.NewSnapshot(o)
}

func (r *recorder) note(key string, c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.at[key]; ok {
		r.calls[i] = c
		return
	}
	r.at[key] = len(r.calls)
	r.calls = append(r.calls, c)
}

// plain is an input without surrounding blanks.
func plain(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.TrimSpace(string(raw)))
}
