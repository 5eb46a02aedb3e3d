package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/race"
)

// journalHost is a host whose app keeps a journal.
type journalHost struct {
	host
	set map[string]any
}

func (h journalHost) Settings() catalog.Values { return journalValues{values(h.host), h.set} }

type journalValues struct {
	values
	set map[string]any
}

func (v journalValues) Bool(key string) bool {
	if on, ok := v.set[key].(bool); ok {
		return on
	}
	return strings.HasPrefix(key, "journal.")
}

func (v journalValues) Int(key string) int {
	if n, ok := v.set[key].(int); ok {
		return n
	}
	return map[string]int{"journal.retentionDays": 90, "journal.maxMb": 512}[key]
}

func (v journalValues) Duration(key string) time.Duration {
	if d, ok := v.set[key].(time.Duration); ok {
		return d
	}
	return 15 * time.Second
}

// coded is a code operation whose body a test gives.
type coded struct {
	spec run.Spec
	body run.Body
}

func (s *coded) operation() *catalog.Operation {
	return &catalog.Operation{
		ID:       catalog.CodeID("test", "execute"),
		Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)},
		Listing: catalog.Listing{
			Title: "Test", Summary: "Runs a test.",
			Reach: catalog.ReachTools,
		},
		Work: catalog.Work{
			Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
				r, err := run.Open(ctx, s.spec)
				if err != nil {
					return nil, err
				}
				_, err = r.Execute(ctx, s.body)
				return json.RawMessage(`{}`), err
			},
		},
	}
}

// journaled is the fixture app with a journal that can be read.
type journaled struct {
	*app
	script *coded
	stop   func()
}

// recordsIn is the participant that records runs in a journal, if there is one.
func recordsIn(kept *books.Journal, o record.Options) *record.Journal {
	records := record.New(o)
	if kept != nil {
		records.Add(kept.Sink())
	}
	return records
}

func startJournaled(tb testing.TB, place string, set map[string]any) *journaled {
	tb.Helper()
	p := entities.Provide(ent.Entities(), entities.Options{})
	require.NoError(tb, p.Start(context.Background(), journalHost{host{place}, set}))
	stopped := false
	j := &journaled{script: &coded{}}
	j.stop = func() {
		if !stopped {
			stopped = true
			require.NoError(tb, p.Stop(context.Background()))
		}
	}
	tb.Cleanup(j.stop)
	s, err := catalog.NewSnapshot(p.Offer(), catalog.Offer{Operations: []*catalog.Operation{j.script.operation()}})
	require.NoError(tb, err)
	engine := run.NewEngine(run.Options{})
	engine.Join(keysOf(p.Books().Keys, once.Options{}), recordsIn(p.Books().Journal, record.Options{ToolVersion: "1.2.3"}))
	j.app = &app{TB: tb, engine: engine, provider: p, place: place, as: auth.Local(), view: s.View(auth.Local(), exposure.Full, false)}
	return j
}

// run runs a script.
func (j *journaled) run(spec run.Spec, body run.Body) error {
	j.script.spec, j.script.body = spec, body
	_, _, err := j.engine.Invoke(context.Background(), run.Request{View: j.view, Principal: j.as, ID: catalog.CodeID("test", "execute"), Input: json.RawMessage(`{"a":1}`), Surface: "mcp"})
	return err
}

func (j *journaled) runs(query string) []map[string]any {
	j.Helper()
	var out []map[string]any
	for _, item := range j.call("KoanRun.collection", query)["items"].([]any) {
		out = append(out, item.(map[string]any))
	}
	return out
}

func invoke(ctx context.Context, a *run.Attempt, op, input string) error {
	id, err := catalog.ParseID("koan::" + op)
	if err == nil {
		_, err = a.Invoke(ctx, a.Next(), id, json.RawMessage(input))
	}
	return err
}

func TestJournalKeepsRunsAndCalls(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestJournalKeepsRunsAndCalls) {
		return
	}
	j := startJournaled(t, place(t), nil)
	j.call("Todo.upsert", `{"model":{"title":"Buy milk"}}`)
	j.fails(fault.NotFound, "Todo.get-by-id", `{"id":"01a1f9af-86a5-7c6b-96f4-1eb5600f6428"}`)
	code := `SDK.Entities.Todo.upsert({title: "x"}); // Bearer abcdefgh12345678`
	spec := run.Spec{Atomic: true, Record: true, Script: run.Script{Code: code, CodeDigest: journal.Digest([]byte(code)), Runtime: "goja"}, CorrelationID: "c-1"}
	require.NoError(t, j.run(spec, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		a.Run().NoteApproval(journal.Approval{State: journal.Approved, Plan: "p1", By: "ann"})
		require.NoError(t, invoke(ctx, a, "Todo.upsert", `{"model":{"title":"x"}}`))
		require.Error(t, invoke(ctx, a, "Todo.get-by-id", `{"id":"01a1f9af-86a5-7c6b-96f4-1eb5600f6428"}`))
		return run.Return{Result: json.RawMessage(`{"n":1}`)}, nil
	}))
	spec.Runtime, spec.Language = "python", "python"
	require.Error(t, j.run(spec, func(context.Context, *run.Attempt) (run.Return, error) {
		return run.Return{}, fault.New(fault.JavaScriptError, "thrown with password=hunter22 and \x00")
	}))

	runs := j.runs(`{"sort":"started,id","with":"calls"}`)
	require.Len(t, runs, 4)
	one, bad, ok, failed := runs[0], runs[1], runs[2], runs[3]
	require.Equal(t, "todo.upsert", one["tool"])
	require.Equal(t, "koan::Todo.upsert", one["operation"])
	require.Equal(t, "ok", one["outcome"])
	require.Equal(t, "local", one["subject"])
	require.Equal(t, "app", one["surface"])
	require.Equal(t, true, one["committed"])
	require.EqualValues(t, 1, one["created"])
	require.Equal(t, []any{map[string]any{"entity": "Todo", "set": "default", "created": 1.0, "updated": 0.0, "deleted": 0.0}}, one["changes"])
	require.Nil(t, one["code"])
	require.Equal(t, "none", one["approval"])
	require.Equal(t, "1.2.3", one["toolVersion"])
	require.NotEmpty(t, one["catalogVersion"])
	require.Len(t, one["traceId"], 32)
	require.Equal(t, string(fault.NotFound), bad["outcome"])
	require.NotEmpty(t, bad["message"])
	require.Equal(t, false, bad["committed"])

	require.Equal(t, strings.Replace(code, "abcdefgh12345678", "[redacted]", 1), ok["code"])
	require.Equal(t, spec.CodeDigest, ok["codeDigest"])
	require.Equal(t, journal.Digest([]byte(`{"a":1}`)), ok["inputDigest"])
	require.EqualValues(t, 7, ok["resultBytes"])
	require.EqualValues(t, 1, ok["redactions"])
	require.EqualValues(t, 2, ok["callCount"])
	require.Equal(t, "goja", ok["runtime"])
	require.Equal(t, "javascript", ok["language"], "of a script whose record names none, as those of earlier versions")
	require.Equal(t, []any{"python", "python"}, []any{failed["language"], failed["runtime"]})
	require.Nil(t, one["language"], "it is no script")
	require.Equal(t, "c-1", ok["correlationId"])
	require.Equal(t, "approved", ok["approval"])
	require.Equal(t, "p1", ok["planId"])
	require.Equal(t, "ann", ok["approvedBy"])
	require.Regexp(t, "^sha256:", ok["changesDigest"])
	calls := ok["calls"].([]any)
	require.Len(t, calls, 2)
	first, second := calls[0].(map[string]any), calls[1].(map[string]any)
	require.Equal(t, ok["id"].(string)+":1", first["id"])
	require.Equal(t, "Todo", first["entity"])
	require.Equal(t, "default", first["set"])
	require.Equal(t, "ok", first["outcome"])
	require.Equal(t, journal.Digest([]byte(`{"model":{"title":"x"}}`)), first["inputDigest"])
	require.Equal(t, string(fault.NotFound), second["outcome"])

	require.Equal(t, string(fault.JavaScriptError), failed["outcome"])
	require.Contains(t, failed["message"], "password=[redacted]")
	require.Equal(t, false, failed["committed"])

	// The whole engine reads it.
	require.EqualValues(t, 1, j.call("KoanRun.count", `{"filter":{"outcome":{"$ne":"ok"},"calls":{"$none":{}}}}`)["count"])
	rows := j.call("KoanCall.aggregate", `{"groupBy":["tool"],"count":true,"avg":["durationMs"],"sort":"tool"}`)["rows"].([]any)
	require.Len(t, rows, 4, "the questions are runs as well: %v", rows)
	require.EqualValues(t, 1, j.call("KoanCall.count", `{"filter":{"run":{"outcome":"`+string(fault.NotFound)+`"}}}`)["count"])
	require.Empty(t, j.view.Snapshot().Resources()[0].Exposure)
}

func TestJournalIsForThoseWhoMayReadIt(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	j := startJournaled(t, place(t), nil)
	j.as = auth.Principal{Subject: "bob", Scopes: []string{"koan:other"}, Sets: []string{"*"}}
	j.fails(fault.Forbidden, "KoanRun.collection", `{}`)
	view := j.view.Snapshot().View(j.as, exposure.Full, false)
	for _, r := range view.Resources() {
		require.NotContains(t, r.Name, "Koan")
	}
	for _, op := range j.view.Snapshot().Operations() {
		if strings.HasPrefix(op.Resource, "Koan") {
			require.False(t, j.view.Listed(op.ID), "listed nowhere: %s", op.ID)
			require.True(t, op.Effects.ReadOnly)
		}
	}
	j.as = auth.Principal{Subject: "ann", Scopes: []string{"koan:journal"}, Sets: []string{"default"}}
	require.Len(t, j.runs(`{}`), 1)
	require.Equal(t, "bob", j.runs(`{"sort":"started"}`)[0]["subject"])

	quiet := startJournaled(t, place(t), map[string]any{"journal.expose": false})
	for _, r := range quiet.view.Snapshot().Resources() {
		require.NotContains(t, r.Name, "Koan")
	}
}

// journalLease is short, so that a dead process is found out soon, and long enough for a living one
// to renew it on a busy machine.
const journalLease = 4 * time.Second

// TestJournalOfAKilledApp kills an app between a run's commit and its record, and
// in the middle of scripts; another process of the app lives on.
func TestJournalOfAKilledApp(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestJournalOfAKilledApp) {
		return
	}
	at := place(t)
	set := map[string]any{"journal.leaseMs": journalLease}
	alive := startJournaled(t, at, set)
	going, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	other := startJournaled(t, at, set)
	go func() {
		done <- other.run(run.Spec{Atomic: true, Script: run.Script{Code: "alive", CodeDigest: "sha256:alive"}}, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			close(going)
			<-end
			return run.Return{}, invoke(ctx, a, "Todo.upsert", `{"model":{"title":"of the living"}}`)
		})
	}()
	<-going

	killed(t, "TestJournalVictim", "KOAN_TEST_PLACE="+at)

	require.Eventually(t, func() bool {
		return alive.call("KoanRun.count", `{"filter":{"repaired":true}}`)["count"].(float64) == 3
	}, time.Minute, 100*time.Millisecond)
	byCode := map[string]map[string]any{}
	for _, r := range alive.runs(`{"filter":{"repaired":true}}`) {
		code, _ := r["code"].(string)
		byCode[code] = r
	}
	require.Equal(t, "cut_off", byCode["hangs"]["outcome"])
	require.Equal(t, false, byCode["hangs"]["committed"])
	require.Equal(t, "ok", byCode["commits"]["outcome"], "its receipt says so")
	require.Equal(t, true, byCode["commits"]["committed"])
	require.EqualValues(t, 13, byCode["commits"]["resultBytes"])
	require.Equal(t, "ok", byCode[""]["outcome"], "a single call, of which nothing but the receipt is left")
	require.Equal(t, true, byCode[""]["committed"])
	require.Zero(t, alive.call("KoanRun.count", `{"filter":{"code":"alive"}}`)["count"], "it is still at it")

	close(end)
	require.NoError(t, <-done)
	living := other.runs(`{"filter":{"code":"alive"}}`)
	require.Len(t, living, 1)
	require.Equal(t, false, living[0]["repaired"])
	require.Equal(t, "ok", living[0]["outcome"])
}

// TestJournalVictim is the process that is killed.
func TestJournalVictim(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	at := os.Getenv("KOAN_TEST_PLACE")
	if at == "" {
		return
	}
	j := startJournaled(t, at, map[string]any{"journal.leaseMs": journalLease})
	hanging := make(chan struct{})
	go func() {
		_ = j.run(run.Spec{Atomic: true, Script: run.Script{Code: "hangs", CodeDigest: "sha256:hangs"}}, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			_ = invoke(ctx, a, "Todo.count", `{}`)
			close(hanging)
			select {}
		})
	}()
	<-hanging
	own := *j
	own.script = &coded{}
	s, err := catalog.NewSnapshot(j.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{own.script.operation()}})
	require.NoError(t, err)
	copied := *j.app
	own.app = &copied
	own.view = s.View(auth.Local(), exposure.Full, false)
	own.engine = run.NewEngine(run.Options{})
	own.engine.Join(record.New(record.Options{}).Add(withheld{j.provider.Books().Journal.Sink()}))
	require.NoError(t, own.run(run.Spec{Atomic: true, Script: run.Script{Code: "commits", CodeDigest: "sha256:commits"}}, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		return run.Return{Result: json.RawMessage(`{"kept":true}`)}, invoke(ctx, a, "Todo.upsert", `{"model":{"title":"committed"}}`)
	}))
	own.call("Todo.upsert", `{"model":{"title":"alone"}}`)
	j.call("KoanRun.count", `{}`) // what was noted is written
	time.Sleep(50 * time.Millisecond)
	die()
}

// withheld loses what a process would have written next.
type withheld struct{ journal.Sink }

func (withheld) Append(context.Context, journal.Record) {}

func TestJournalForgets(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestJournalForgets) {
		return
	}
	at, set := place(t), map[string]any{"journal.maxMb": 1, "journal.retentionDays": 1}
	j := startJournaled(t, at, set)
	keep := func(tool string, age time.Duration, n int, code string) {
		for i := range n {
			started := time.Now().Add(-age)
			ms := started.UnixMilli()
			j.provider.Books().Journal.Sink().Append(context.Background(), journal.Record{
				Run:     fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, i),
				Started: started, Subject: tool, Tool: tool, Outcome: journal.OK, Script: journal.Script{Code: code}, Trail: []journal.Call{{Position: "1", Outcome: journal.OK}},
			})
		}
	}
	keep("old", 25*time.Hour, 600, "")
	keep("young", 23*time.Hour, 10, "")
	j.stop()
	j = startJournaled(t, at, set)
	count := func(tool string) float64 {
		return j.call("KoanRun.count", `{"filter":{"tool":"`+tool+`"}}`)["count"].(float64)
	}
	require.Eventually(t, func() bool { return count("old") == 0 }, 20*time.Second, 50*time.Millisecond)
	require.EqualValues(t, 10, count("young"))
	require.EqualValues(t, 10, j.call("KoanCall.count", `{"filter":{"operation":""}}`)["count"], "their calls went with them")

	keep("big", time.Hour, 700, strings.Repeat("x", 10<<10))
	j.stop()
	j = startJournaled(t, at, set)
	require.Eventually(t, func() bool { return count("big") < 100 }, 20*time.Second, 50*time.Millisecond)
	require.Greater(t, count("big"), 60.0)
	require.EqualValues(t, 10, count("young"), "a caller with little keeps it, however old it is beside another's flood")
	check := j.provider.Checks(context.Background())
	require.Regexp(t, `^journal .*: \d+ runs, (\d+ KB|1\.\d MB); kept for 1 day, at most 1 MB; since \d{4}-`, check[len(check)-1].Name+" "+check[len(check)-1].Detail)
}

// killed runs a test in a process of its own, which dies by SIGKILL.
func killed(t *testing.T, test string, env ...string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^"+test+"$")
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(out))
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), string(out))
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

func TestSensitiveValuesStandInNoError(t *testing.T) {
	t.Parallel()
	a := start(t, ent.Entities())
	f := a.fails(fault.InvalidPayload, "Todo.upsert", `{"model":{"title":"x","secret":73911937}}`)
	require.NotContains(t, f.Message+fmt.Sprintf("%+v", f.Details), "73911937")
	require.Equal(t, "/model/secret", f.Path)
	f = a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"x","changes":{"secret":{"pin":"73911937"}}}`)
	require.NotContains(t, f.Message+fmt.Sprintf("%+v", f.Details), "73911937")
}

// TestJournalOfARunThatIsGoneOnWith keeps one record of a run with a key, however
// often it was begun, and one of each call that got its reply again.
func TestJournalOfARunThatIsGoneOnWith(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestJournalOfARunThatIsGoneOnWith) {
		return
	}
	j := startJournaled(t, place(t), nil)
	spec := run.Spec{Atomic: true, Script: run.Script{Code: "keyed", CodeDigest: "sha256:keyed"}, Once: run.Once{IdempotencyKey: "k", Fingerprint: "f"}}
	spec.Reply = func(run.Return, *run.Outcome, error) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }
	ok := func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		return run.Return{}, invoke(ctx, a, "Todo.upsert", `{"model":{"title":"once"}}`)
	}
	for range 3 {
		require.NoError(t, j.run(spec, ok))
	}
	runs := j.runs(`{"filter":{"code":"keyed"},"sort":"id"}`)
	require.Len(t, runs, 3)
	require.Equal(t, true, runs[0]["committed"])
	require.Equal(t, true, runs[0]["keyed"])
	for _, again := range runs[1:] {
		require.Equal(t, runs[0]["id"], again["repeatOf"])
		require.Equal(t, false, again["committed"])
		require.EqualValues(t, 0, again["callCount"])
	}

	id := runs[0]["id"].(string)
	record := journal.Record{Run: id, Started: time.Now(), Outcome: journal.OK, Keyed: true, Script: journal.Script{Code: "again"}, Trail: []journal.Call{{Position: "7", Outcome: journal.OK}}}
	for range 5 {
		j.provider.Books().Journal.Sink().Append(context.Background(), record)
		require.Equal(t, "again", j.call("KoanRun.get-by-id", `{"id":"`+id+`","with":"calls"}`)["code"])
	}
	require.EqualValues(t, 1, j.call("KoanCall.count", `{"filter":{"run":{"id":"`+id+`"}}}`)["count"])
	count := int(j.call("KoanRun.count", `{}`)["count"].(float64))
	checks := j.provider.Checks(context.Background())
	require.Regexp(t, fmt.Sprintf(": (%d|%d) runs,", count, count+1), checks[len(checks)-1].Detail, "what was replaced counts once")
}
