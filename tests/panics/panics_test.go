// Package panics_test has an app's own functions panic in each place where the system calls them.
package panics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
)

const boom = "boom: a mistake of the app"

// log is what an app logs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// trap is armed by a test; code of the app that comes by then panics, once or until it is disarmed.
type trap struct{ armed func() bool }

func (t *trap) step() {
	if t.armed != nil && t.armed() {
		panic(boom)
	}
}

func onMutation(fn func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error)) ent.EntitiesOption {
	return ent.OnClient(func(c *ent.Client) {
		c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				return fn(ctx, m.(*ent.TodoMutation), next)
			})
		})
	})
}

// onCommit adds a hook to the transaction of each mutation.
func onCommit(hook func(next ent.Committer) ent.Committer) ent.EntitiesOption {
	return onMutation(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
		tx, err := m.Tx()
		if err != nil {
			return nil, err
		}
		tx.OnCommit(hook)
		return next.Mutate(ctx, m)
	})
}

// provider is a provider of the app.
type provider struct {
	t *trap
}

func (p *provider) Name() string                              { return "own" }
func (p *provider) Start(context.Context, catalog.Host) error { return nil }
func (p *provider) Stop(context.Context) error                { return nil }
func (p *provider) Ready(context.Context) error               { p.t.step(); return nil }
func (p *provider) Report(catalog.Boot) []string              { p.t.step(); return nil }
func (p *provider) Checks(context.Context) []catalog.Check    { p.t.step(); return nil }
func (p *provider) Reload(catalog.Values) (func(), error)     { return func() { p.t.step() }, nil }
func (p *provider) Gauges() []catalog.Gauge {
	return []catalog.Gauge{{Name: "own.gauge", Help: "of the app", Read: func() float64 { p.t.step(); return 1 }}}
}

func (p *provider) Offer() catalog.Offer {
	p.t.step()
	op := func(name string, serial bool) *catalog.Operation {
		return &catalog.Operation{
			ID: catalog.PluginID("own", name),
			Contract: catalog.Contract{
				Effects: catalog.Effects{ReadOnly: true},
				Input:   json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`),
			},
			Listing: catalog.Listing{Title: name, Summary: name, Reach: catalog.Everywhere},
			Work: catalog.Work{
				Serial: serial,
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
					p.t.step()
					return json.RawMessage(`{}`), nil
				},
			},
		}
	}
	handler, serial, decode := op("handler", false), op("serial", true), op("decode", false)
	decode.Decode = func(in catalog.Input) (catalog.Decoded, error) { p.t.step(); return catalog.Decoded{}, nil }
	return catalog.Offer{Operations: []*catalog.Operation{handler, serial, decode}}
}

// running is an app with a trap in it.
type running struct {
	*framework.Instance
	t   *testing.T
	log *log
}

func start(t *testing.T, app framework.App) (*running, error) {
	t.Helper()
	r := &running{t: t, log: &log{}}
	app.Name = "panics"
	i, err := framework.New(t.Context(), app, framework.Options{
		Testing: true, Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Config: framework.Source{Flags: map[string]string{
			"database": "sqlite://" + t.TempDir(), "journal.enabled": "true", "approval.mode": "never", "approval.rules": "[]",
			"telemetry.metrics": "true", "replay.keep": "none",
		}},
	})
	if err != nil {
		return r, err
	}
	t.Cleanup(func() { require.NoError(t, i.Stop(context.Background())) })
	r.Instance = i
	return r, nil
}

func (r *running) call(id, input string) ([]byte, *run.Outcome, error) {
	var result json.RawMessage
	out, err := r.Invoke(r.t.Context(), auth.Local(), id, json.RawMessage(input), &result)
	return result, out, err
}

func (r *running) count() string {
	out, _, err := r.call("koan::Todo.count", `{"set":"default"}`)
	require.NoError(r.t, err)
	return string(out)
}

// journaled waits until the journal has a run.
func (r *running) journaled(id string) {
	require.Eventually(r.t, func() bool {
		page, err := r.Runs(auth.With(r.t.Context(), auth.Local()), journal.Query{})
		require.NoError(r.t, err)
		for _, kept := range page.Runs {
			if strings.Contains(string(kept), id) {
				return true
			}
		}
		return false
	}, 30*time.Second, 10*time.Millisecond, "the journal lacks the run %s", id)
}

const create = `{"model":{"title":"new"},"set":"default"}`

// A panic of an app's function in a run makes the run end in `internal`: it is in the journal, nothing
// of it is stored, the log has the stack, and the next call succeeds.
func TestPanicInARun(t *testing.T) {
	script := func(code string) string {
		raw, err := json.Marshal(map[string]string{"code": code})
		require.NoError(t, err)
		return string(raw)
	}
	const execute, createTodo = "code::koan.execute", "koan::Todo.upsert"
	tests := []struct {
		name string
		id   string // of the call; "" creates a todo
		in   string
		app  func(t *trap) framework.App
	}{
		{name: "hook before the statement", app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(onMutation(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
				t.step()
				return next.Mutate(ctx, m)
			}))}
		}},
		{name: "hook after the statement", app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(onMutation(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
				v, err := next.Mutate(ctx, m)
				t.step()
				return v, err
			}))}
		}},
		{name: "hook, in a script", id: execute, in: script(`SDK.Entities.Todo.upsert({title: "a"}); SDK.Entities.Todo.upsert({title: "b"})`), app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(onMutation(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
				v, err := next.Mutate(ctx, m)
				if title, _ := m.Title(); title == "b" {
					t.step()
				}
				return v, err
			}))}
		}},
		{name: "interceptor", id: "koan::Todo.collection", in: `{"set":"default"}`, app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(ent.OnClient(func(c *ent.Client) {
				c.Todo.Intercept(stdent.TraverseFunc(func(context.Context, stdent.Query) error { t.step(); return nil }))
			}))}
		}},
		{name: "commit hook before the commit", app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(onCommit(func(next ent.Committer) ent.Committer {
				return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
					t.step()
					return next.Commit(ctx, tx)
				})
			}))}
		}},
		{name: "Viewer", app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(), Viewer: func(ctx context.Context, _ framework.Principal) context.Context { t.step(); return ctx }}
		}},
		{name: "Clock", app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(), Clock: func() time.Time { t.step(); return time.Now() }}
		}},
		{name: "Go action", id: "action::break", in: `{}`, app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(), GoActions: []framework.GoAction{
				framework.Action("break", "Breaks.", func(ctx context.Context, c framework.Call, _ struct{}) (struct{}, error) {
					err := c.Invoke(ctx, createTodo, map[string]any{"model": map[string]any{"title": "of an action"}, "set": "default"}, nil)
					t.step()
					return struct{}{}, err
				}),
			}}
		}},
		{name: "handler of a provider", id: "plugin::own.handler", in: `{}`, app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(), Providers: []framework.Provider{&provider{t: t}}}
		}},
		{name: "serial handler of a provider", id: "plugin::own.serial", in: `{}`, app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(), Providers: []framework.Provider{&provider{t: t}}}
		}},
		{name: "decoder of a provider", id: "plugin::own.decode", in: `{}`, app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(), Providers: []framework.Provider{&provider{t: t}}}
		}},
		{name: "set made by OnClient", id: createTodo, in: `{"model":{"title":"new"},"set":"tenant-a"}`, app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(ent.OnClient(func(*ent.Client) { t.step() }))}
		}},
		{name: "set filled by OnCreateSet", id: createTodo, in: `{"model":{"title":"new"},"set":"tenant-a"}`, app: func(t *trap) framework.App {
			return framework.App{Entities: ent.Entities(ent.OnCreateSet(func(ctx context.Context, set string, c *ent.Client) error {
				if set == "default" {
					return nil
				}
				err := c.Todo.Create().SetTitle("first").Exec(ctx)
				t.step()
				return err
			}))}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var trapped trap
			r, err := start(t, test.app(&trapped))
			require.NoError(t, err)
			id, in := test.id, test.in
			if id == "" {
				id, in = createTodo, create
			}
			before := r.count()
			trapped.armed = func() bool { return true }
			_, out, err := r.call(id, in)
			trapped.armed = nil
			require.Equal(t, fault.Internal, fault.CodeOf(err), "%v", err)
			require.NotContains(t, err.Error(), boom)
			require.NotNil(t, out)
			require.False(t, out.Committed)
			require.Contains(t, r.log.String(), boom)
			require.Contains(t, r.log.String(), "panics_test.go", "the stack")
			r.journaled(out.Run)
			require.Equal(t, before, r.count())
			_, out, err = r.call(id, in)
			require.NoError(t, err, "the next call")
			r.journaled(out.Run)
		})
	}
}

// What ent generates of a schema's functions are variables of its package.
func TestPanicInAFunctionOfTheSchema(t *testing.T) {
	r, err := start(t, framework.App{Entities: ent.Entities()})
	require.NoError(t, err)
	for name, arm := range map[string]func() (disarm func()){
		"validator": func() func() {
			was := todo.TitleValidator
			todo.TitleValidator = func(string) error { panic(boom) }
			return func() { todo.TitleValidator = was }
		},
		"default": func() func() {
			was := todo.DefaultID
			todo.DefaultID = func() string { panic(boom) }
			return func() { todo.DefaultID = was }
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, disarm := r.count(), arm()
			_, out, err := r.call("koan::Todo.upsert", create)
			disarm()
			require.Equal(t, fault.Internal, fault.CodeOf(err), "%v", err)
			r.journaled(out.Run)
			require.Equal(t, before, r.count())
			_, _, err = r.call("koan::Todo.upsert", create)
			require.NoError(t, err)
		})
	}
	require.Contains(t, r.log.String(), boom)
}

// After the commit, nothing that the app does changes what the run was.
func TestPanicAfterTheCommit(t *testing.T) {
	errLate := errors.New("the mail server is gone")
	tests := []struct {
		name     string
		entities func(t *trap) *framework.Entities
		log      string
		counted  string
	}{
		{"function after the commit that panics", func(t *trap) *framework.Entities {
			return ent.Entities(onMutation(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
				run.AfterCommit(ctx, func(context.Context) { t.step() })
				return next.Mutate(ctx, m)
			}))
		}, boom, `koan_after_commits_total{outcome="panic"} 1`},
		{"function after the commit that fails", func(t *trap) *framework.Entities {
			return ent.Entities(onMutation(func(ctx context.Context, m *ent.TodoMutation, next stdent.Mutator) (stdent.Value, error) {
				run.AfterCommit(ctx, func(context.Context) error {
					if t.armed == nil {
						return nil
					}
					return errLate
				})
				return next.Mutate(ctx, m)
			}))
		}, errLate.Error(), `koan_after_commits_total{outcome="error"} 1`},
		{"commit hook that panics after the commit", func(t *trap) *framework.Entities {
			return ent.Entities(onCommit(func(next ent.Committer) ent.Committer {
				return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
					err := next.Commit(ctx, tx)
					t.step()
					return err
				})
			}))
		}, boom, ""},
		{"commit hook that fails after the commit", func(t *trap) *framework.Entities {
			return ent.Entities(onCommit(func(next ent.Committer) ent.Committer {
				return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
					err := next.Commit(ctx, tx)
					if t.armed != nil {
						return errLate
					}
					return err
				})
			}))
		}, errLate.Error(), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			trapped := trap{armed: func() bool { return true }}
			r, err := start(t, framework.App{Entities: test.entities(&trapped)})
			require.NoError(t, err)
			before := r.count()
			_, out, err := r.call("koan::Todo.upsert", create)
			require.NoError(t, err)
			require.True(t, out.Committed)
			require.NotEqual(t, before, r.count())
			require.NoError(t, r.Engine().WaitAfterCommit(t.Context()))
			require.Contains(t, r.log.String(), test.log)
			r.journaled(out.Run)
			w := httptest.NewRecorder()
			r.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			require.Contains(t, w.Body.String(), test.counted)
			undo, err := json.Marshal(map[string]string{"runId": out.Run})
			require.NoError(t, err)
			_, undone, err := r.call("code::koan.undo", string(undo))
			require.NoError(t, err)
			require.True(t, undone.Committed)
			require.Equal(t, before, r.count())
		})
	}
}

// A hook that neither commits nor fails has the run fail, and nothing is stored.
func TestCommitHookThatDoesNotCommit(t *testing.T) {
	r, err := start(t, framework.App{Entities: ent.Entities(onCommit(func(ent.Committer) ent.Committer {
		return ent.CommitFunc(func(context.Context, *ent.Tx) error { return nil })
	}))})
	require.NoError(t, err)
	before := r.count()
	_, out, err := r.call("koan::Todo.upsert", create)
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err), "%v", err)
	require.False(t, out.Committed)
	require.Equal(t, before, r.count())
	r.journaled(out.Run)
}

// What happens outside of runs: lists, checks, gauges, reloads, and callers of HTTP.
func TestPanicOutsideOfRuns(t *testing.T) {
	var trapped trap
	r, err := start(t, framework.App{Entities: ent.Entities(), Providers: []framework.Provider{&provider{t: &trapped}}})
	require.NoError(t, err)
	authenticate := func(*http.Request) (auth.Principal, error) { trapped.step(); return auth.Local(), nil }
	handler, err := r.HTTPHandler(framework.HTTPOptions{Authenticate: authenticate})
	require.NoError(t, err)
	t.Cleanup(func() { handler.Shutdown(context.Background()) })
	request := func(h http.Handler, method, path string) int {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(`{}`))
		req.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, req)
		return w.Code
	}
	tests := map[string]func(t *testing.T){
		"readiness": func(t *testing.T) { require.ErrorIs(t, r.Ready(t.Context()), fault.New(fault.Internal, "")) },
		"report":    func(*testing.T) { r.Report() },
		"checks":    func(*testing.T) { r.Checks(context.Background()) },
		"reload":    func(t *testing.T) { require.NoError(t, r.Reload(t.Context())) },
		"gauge": func(*testing.T) {
			r.Metrics().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
		},
		"caller of REST": func(t *testing.T) { require.Equal(t, 500, request(handler, http.MethodGet, "/api/todo?set=default")) },
		"caller of MCP":  func(t *testing.T) { require.Equal(t, 500, request(handler, http.MethodPost, "/mcp")) },
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			trapped.armed = func() bool { return true }
			test(t)
			trapped.armed = nil
			require.Equal(t, 200, request(handler, http.MethodGet, "/api/todo?set=default"))
		})
	}
	require.Contains(t, r.log.String(), boom)
}

// A provider that panics at the start ends the start with an error.
func TestPanicAtTheStart(t *testing.T) {
	trapped := trap{armed: func() bool { return true }}
	for name, app := range map[string]framework.App{
		"provider's list": {Entities: ent.Entities(), Providers: []framework.Provider{&provider{t: &trapped}}},
		"OnClient":        {Entities: ent.Entities(ent.OnClient(func(*ent.Client) { panic(boom) }))},
		"OnCreateSet":     {Entities: ent.Entities(ent.OnCreateSet(func(context.Context, string, *ent.Client) error { panic(boom) }))},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := start(t, app)
			require.Equal(t, fault.Internal, fault.CodeOf(err), "%v", err)
			require.Contains(t, r.log.String(), boom)
		})
	}
}

// A logger of the app that panics loses lines, and nothing else.
func TestPanicOfTheLogger(t *testing.T) {
	i, err := framework.New(t.Context(), framework.App{Name: "panics", Entities: ent.Entities()}, framework.Options{
		Testing: true, Log: slog.New(broken{slog.DiscardHandler}),
		Config: framework.Source{Flags: map[string]string{"database": "sqlite://" + t.TempDir(), "log.level": "debug"}},
	})
	require.NoError(t, err)
	out, err := i.Invoke(t.Context(), auth.Local(), "koan::Todo.upsert", json.RawMessage(create), nil)
	require.NoError(t, err)
	require.True(t, out.Committed)
	require.NoError(t, i.Stop(context.Background()))
}

type broken struct{ slog.Handler }

func (broken) Enabled(context.Context, slog.Level) bool  { return true }
func (broken) Handle(context.Context, slog.Record) error { panic(boom) }
