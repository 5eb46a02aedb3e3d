// Package koantest puts an app's scripts under test: each test gets the app with
// fresh stores, copied from a migrated template, and an executor in its own
// process over the same bindings that workers have, or real workers.
//
// What belongs here: what authors of apps and plugins need in their own tests.
// Not here: anything that an app links outside of tests.
package koantest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// Kit is an app under test.
type Kit struct {
	tb       testing.TB
	instance *framework.Instance
	as       auth.Principal
}

// Setting overrides one key of the configuration.
type Setting struct{ Key, Value string }

// New starts the app with an empty data folder of its own, where an app that opens its databases
// itself has its ledger. It stops with the test. Runs
// need no approval, unless settings say so, and a script may take 30 seconds, waiting included
// (sandbox.cpuMs). Where the setting `database` is a server of
// PostgreSQL, the sets are in schemas of the test's own, and dropped at its end; two kits whose
// URLs have the same schema_prefix share them. Outside of a test binary it panics.
func New(tb testing.TB, app framework.App, settings ...Setting) *Kit {
	tb.Helper()
	return start(tb, app, true, settings)
}

// NewConfined is New, but scripts run as in production, in confined worker processes:
// for tests of limits and for measurements. A test binary is its own worker. The app
// keeps a journal too, unless settings say otherwise.
func NewConfined(tb testing.TB, app framework.App, settings ...Setting) *Kit {
	tb.Helper()
	return start(tb, app, false, settings)
}

// wallMs is the limit of CPU time within the test's own process, where nothing tells the time that a
// script computes from the time that a busy machine lets it wait: the default of sandbox.timeoutMs.
const wallMs = "30000"

func start(tb testing.TB, app framework.App, inProcess bool, settings []Setting) *Kit {
	tb.Helper()
	if !testing.Testing() {
		panic("koantest: only tests may use it")
	}
	flags := map[string]string{"replay.keep": "none"} // files that a test has no use for
	if inProcess {
		flags["sandbox.cpuMs"] = wallMs
	}
	if app.KeepsLedger() {
		place := "database"
		if app.Open != nil {
			place = "ledger.database"
		}
		flags[place] = "sqlite://" + tb.TempDir()
	}
	for _, s := range settings {
		flags[s.Key] = s.Value
	}
	for _, place := range []string{"database", "ledger.database"} {
		if inPostgreSQL(flags[place]) {
			flags[place] = freshSchemas(tb, flags[place])
		}
	}
	if flags["approval.mode"] == "" && flags["approval.rules"] == "" { // nobody is there to be asked, by the app's own rules either
		flags["approval.mode"], flags["approval.rules"] = string(approval.Never), "[]"
	}
	i, err := framework.New(context.Background(), app, framework.Options{
		Config: framework.Source{Flags: flags}, Testing: inProcess, Log: slog.New(slog.NewTextHandler(logOf(tb), nil)),
	})
	if err != nil {
		tb.Fatalf("koantest: %s does not start: %v", app.Name, err)
	}
	tb.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			tb.Errorf("koantest: %s does not stop: %v", app.Name, err)
		}
	})
	return &Kit{tb: tb, instance: i, as: auth.Local()}
}

// Instance is the running app.
func (k *Kit) Instance() *framework.Instance { return k.instance }

// Connect opens an MCP connection to the app for any client that works over a pair of
// streams, one message per line. It calls as the kit's caller. It is closed at the end of
// the test, if not before.
func (k *Kit) Connect() io.ReadWriteCloser {
	k.tb.Helper()
	c, err := k.instance.Connect(context.Background(), k.as)
	if err != nil {
		k.tb.Fatalf("koantest: %s cannot be connected to: %v", k.instance.App().Name, err)
	}
	k.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Tools returns the result of tools/list for a view in a style (tools.style).
func Tools(v *catalog.View, style string) json.RawMessage {
	return toolset.JSON(v, toolset.Options{Style: toolset.Style(style)})
}

// As returns the same app as another caller sees it.
func (k *Kit) As(p auth.Principal) *Kit {
	other := *k
	other.as = p
	return &other
}

// Input is the input of a script; the zero value is valid.
type Input struct {
	Args     any
	Set      string
	Language string // the first of codeMode.languages if empty
	DryRun   bool
	Include  []string // of "changes", "calls"
}

// Result is the result of a script (CONTRACT section 2).
type Result struct {
	Success        bool                `json:"success"`
	RunID          string              `json:"runId"`
	Answer         json.RawMessage     `json:"answer"`
	Result         json.RawMessage     `json:"result"`
	Emitted        []json.RawMessage   `json:"emitted"` // what it emitted while it ran
	Logs           []Log               `json:"logs"`
	ChangeCounts   []store.ChangeCount `json:"changeCounts"`
	Changes        []store.Change      `json:"changes"`
	Calls          []run.CallRecord    `json:"calls"`
	Error          *fault.Fault        `json:"error"`
	Committed      bool                `json:"committed"`
	OutsideEffects []run.CallRecord    `json:"outsideEffects"`

	tb testing.TB
}

// Log is one message of a script.
type Log struct {
	Level   string `json:"level"`
	Message string `json:"message"`
	TimeMs  int64  `json:"timeMs"`
}

// Run runs a script and fails the test if the script fails.
func (k *Kit) Run(script string, in Input) *Result {
	k.tb.Helper()
	r := k.Try(script, in)
	if !r.Success {
		k.tb.Fatalf("the script failed at line %d: %v\n  hint: %s", r.Error.Line, r.Error, r.Error.Hint)
	}
	return r
}

// Try runs a script that may fail.
func (k *Kit) Try(script string, in Input) *Result {
	k.tb.Helper()
	input := map[string]any{"code": script}
	if in.Args != nil {
		input["args"] = in.Args
	}
	if in.Set != "" {
		input["set"] = in.Set
	}
	if in.Language != "" {
		input["language"] = in.Language
	}
	if in.DryRun {
		input["dryRun"] = true
	}
	if len(in.Include) > 0 {
		input["include"] = in.Include
	}
	raw, err := json.Marshal(input)
	if err != nil {
		k.tb.Fatalf("koantest: the input is not JSON: %v", err)
	}
	out, err := k.call(catalog.CodeID("koan", "execute"), raw)
	r := &Result{tb: k.tb}
	if out != nil {
		if jsonErr := json.Unmarshal(out, r); jsonErr != nil {
			k.tb.Fatalf("koantest: the result is not JSON: %v", jsonErr)
		}
	}
	if err != nil {
		r.Success, r.Error = false, fault.From(err)
	}
	return r
}

// Action carries out an action, decodes its output into output (nil ignores it), and fails the
// test if the action fails.
func (k *Kit) Action(name string, input, output any) {
	k.tb.Helper()
	raw, err := k.TryAction(name, input)
	if err != nil {
		f := fault.From(err)
		k.tb.Fatalf("the action %s failed: %v\n  hint: %s", name, f, f.Hint)
	}
	if output != nil {
		decode(k.tb, "output", raw, output)
	}
}

// TryAction carries out an action that may fail, with a fault.
func (k *Kit) TryAction(name string, input any) (json.RawMessage, error) {
	k.tb.Helper()
	return k.Call(catalog.ActionID(name).String(), input)
}

// Call makes one call by catalog id, such as "koan::Todo.upsert", as a tool or
// the REST API would.
func (k *Kit) Call(id string, input any) (json.RawMessage, error) {
	k.tb.Helper()
	parsed, err := catalog.ParseID(id)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(input)
	if err != nil {
		k.tb.Fatalf("koantest: the input is not JSON: %v", err)
	}
	return k.call(parsed, raw)
}

func (k *Kit) call(id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	view := k.instance.Snapshot().View(k.as, exposure.Full, k.instance.Negotiated())
	out, _, err := k.instance.Engine().Invoke(context.Background(), run.Request{View: view, Principal: k.as, ID: id, Input: input, Surface: "test"})
	k.WaitAfterCommit()
	if id.Kind == catalog.KindAction && fault.CodeOf(err) == fault.ToolNotFound {
		err = k.explain(id.Op, err)
	}
	return out, err
}

// explain returns why there is no such action: what is wrong with its file, with the place, or err.
func (k *Kit) explain(action string, err error) error {
	for _, c := range k.instance.Checks(context.Background()) {
		if !c.OK && strings.Contains(c.Detail, "/"+action+".") {
			return fault.New(fault.ToolNotFound, "the action is wrong: "+c.Detail).WithHint("%s", c.Hint)
		}
	}
	return err
}

// WaitAfterCommit waits until the functions have returned that runs so far have left with
// run.AfterCommit. The kit's own methods wait for them already; tests need it only for what they send
// over a connection or through the Instance.
func (k *Kit) WaitAfterCommit() {
	k.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := k.instance.Engine().WaitAfterCommit(ctx); err != nil {
		k.tb.Fatalf("koantest: functions of run.AfterCommit have not returned: %v", err)
	}
}

// AnswerInto decodes the script's answer and fails the test if there is none.
func (r *Result) AnswerInto(v any) {
	r.tb.Helper()
	decode(r.tb, "answer", r.Answer, v)
}

// ResultInto decodes the script's result and fails the test if there is none.
func (r *Result) ResultInto(v any) {
	r.tb.Helper()
	decode(r.tb, "result", r.Result, v)
}

func decode(tb testing.TB, what string, raw json.RawMessage, v any) {
	tb.Helper()
	if raw == nil {
		tb.Fatalf("the script gave no %s", what)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		tb.Fatalf("the script's %s does not decode: %v", what, err)
	}
}
