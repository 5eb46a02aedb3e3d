package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/race"
)

// body is a code operation that makes attempts of a Go function.
func body(spec run.Spec, fn func(ctx context.Context, a *run.Attempt) error) *catalog.Operation {
	return &catalog.Operation{
		ID:       catalog.CodeID("test", "script"),
		Contract: catalog.Contract{Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`)},
		Work: catalog.Work{
			Handler: func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
				r, err := run.Open(ctx, spec)
				if err != nil {
					return nil, err
				}
				_, err = r.Execute(ctx, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
					return run.Return{Result: json.RawMessage(`"done"`)}, fn(ctx, a)
				})
				return json.RawMessage(`{}`), err
			},
		},
	}
}

// script is a code operation that calls entities by "Entity.op".
func script(spec run.Spec, fn func(call func(op, input string) (map[string]any, error), a *run.Attempt) error) *catalog.Operation {
	return body(spec, func(ctx context.Context, a *run.Attempt) error {
		return fn(func(op, input string) (map[string]any, error) {
			id, err := catalog.ParseID("koan::" + op)
			if err != nil {
				return nil, err
			}
			raw, err := a.Invoke(ctx, a.Next(), id, json.RawMessage(input))
			if err != nil {
				return nil, err
			}
			var m map[string]any
			return m, json.Unmarshal(raw, &m)
		}, a)
	})
}

// run runs a script of the app.
func (a *app) run(op *catalog.Operation) (*run.Outcome, error) {
	a.Helper()
	view := a.with(op)
	_, out, err := a.engine.Invoke(context.Background(), run.Request{View: view, Principal: a.as, ID: op.ID, Surface: "app"})
	return out, err
}

// runs returns what runs a script again and again.
func (a *app) runs(op *catalog.Operation) func() {
	view := a.with(op)
	return func() {
		_, _, err := a.engine.Invoke(context.Background(), run.Request{View: view, Principal: a.as, ID: op.ID, Surface: "app"})
		require.NoError(a, err)
	}
}

// with is the app's view with one operation more.
func (a *app) with(op *catalog.Operation) *catalog.View {
	a.Helper()
	s, err := catalog.NewSnapshot(a.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{op}})
	require.NoError(a, err)
	return s.View(a.as, exposure.Full, false)
}

var atomic = run.Spec{Atomic: true}

func TestNoUpdateIsLost(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestNoUpdateIsLost) {
		return
	}
	where := place(t)
	one, two := startIn(t, where, ent.Entities()), startIn(t, where, ent.Entities()) // as two processes would
	one.call("Todo.upsert", `{"model":{"id":"counter","title":"x"}}`)
	increment := func() *catalog.Operation {
		return script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
			now, err := call("Todo.get-by-id", `{"id":"counter"}`)
			if err != nil {
				return err
			}
			time.Sleep(time.Millisecond) // thinking
			_, err = call("Todo.patch", fmt.Sprintf(`{"id":"counter","changes":{"views":%v}}`, now["views"].(float64)+1))
			return err
		})
	}
	const clients, times = 6, 8
	var group sync.WaitGroup
	failed := make(chan error, clients*times)
	again := make(chan int, clients*times)
	for i := range clients {
		group.Go(func() {
			for range times {
				out, err := []*app{one, two}[i%2].run(increment())
				if err != nil {
					failed <- err
					continue
				}
				again <- out.Attempts
			}
		})
	}
	group.Wait()
	close(failed)
	close(again)
	for err := range failed {
		require.NoError(t, err)
	}
	attempts := 0
	for n := range again {
		attempts += n
	}
	require.Greater(t, attempts, clients*times, "the scripts did meet")
	require.EqualValues(t, clients*times, one.call("Todo.get-by-id", `{"id":"counter"}`)["views"])
}

// stale makes the attempt's snapshot old before its first write, once, if that
// write is a change of the person "p".
func stale(a *app, attempt *run.Attempt) error {
	if attempt.Number() > 1 {
		return nil
	}
	_, _, err := a.try("Person.patch", `{"id":"p","changes":{"name":"theirs"}}`)
	return err
}

func TestLaterAttemptsGenerateTheSame(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestLaterAttemptsGenerateTheSame) {
		return
	}
	written := ent.OnClient(func(c *ent.Client) {
		c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				v, err := next.Mutate(ctx, m)
				if err == nil {
					err = ent.FromContext(ctx).AuditLog.Create().SetMessage("todo").Exec(ctx)
				}
				return v, err
			})
		})
	})
	a := start(t, ent.Entities(written))
	a.call("Person.upsert", `{"model":{"id":"p","name":"P","email":"p"}}`)
	op := script(run.Spec{Atomic: true, Record: true}, func(call func(string, string) (map[string]any, error), attempt *run.Attempt) error {
		if _, err := call("Todo.count", `{}`); err != nil {
			return err
		}
		if attempt.Number() == 1 {
			if _, err := attempt.Tape().Value("3", "Todo/OpCreate/1/id", func() (any, error) { return "from-the-tape", nil }); err != nil {
				return err
			}
			if err := stale(a, attempt); err != nil {
				return err
			}
		}
		if _, err := call("Person.patch", `{"id":"p","changes":{"name":"mine"}}`); err != nil {
			return err
		}
		_, err := call("Todo.upsert", `{"model":{"title":"x"}}`)
		return err
	})
	out, err := a.run(op)
	require.NoError(t, err)
	require.Equal(t, 2, out.Attempts)
	require.Equal(t, "update Person p", said(out.Changes)[0])
	require.Contains(t, string(out.Changes[0].Before), `"theirs"`)
	require.Equal(t, "create Todo from-the-tape", said(out.Changes)[1])
	require.Equal(t, "AuditLog", out.Changes[2].Entity, "what hooks write is among the changes")
	require.Len(t, out.Changes, 3)
	require.Contains(t, string(out.Changes[1].After), `"title":"x"`)
	require.Empty(t, out.Changes[1].Before)
}

func TestGeneratedValuesComeFromTheTape(t *testing.T) {
	t.Parallel()
	if forEach(t, TestGeneratedValuesComeFromTheTape) {
		return
	}
	a := start(t, ent.Entities())
	slow := &catalog.Operation{
		ID:       catalog.PluginID("slow", "call"),
		Contract: catalog.Contract{Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
				time.Sleep(50 * time.Millisecond)
				return json.RawMessage(`{}`), nil
			},
		},
	}
	var ids, times []any
	again := body(atomic, func(ctx context.Context, attempt *run.Attempt) error {
		raw, err := attempt.Invoke(ctx, attempt.Next(), catalog.EntityID("Todo", "upsert"), json.RawMessage(`{"model":{"title":"x"}}`))
		if err != nil {
			return err
		}
		var made map[string]any
		if err := json.Unmarshal(raw, &made); err != nil {
			return err
		}
		ids, times = append(ids, made["id"]), append(times, made["createdAt"])
		_, err = attempt.Invoke(ctx, attempt.Next(), slow.ID, nil)
		return err
	})
	a.engine = run.NewEngine(run.Options{Lock: 10 * time.Millisecond})
	s, err := catalog.NewSnapshot(a.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{slow, again}})
	require.NoError(t, err)
	_, out, err := a.engine.Invoke(context.Background(), run.Request{View: s.View(a.as, exposure.Full, false), Principal: a.as, ID: again.ID})
	require.NoError(t, err)
	require.Equal(t, 2, out.Attempts)
	require.Len(t, ids, 2)
	require.Equal(t, ids[0], ids[1])
	require.Equal(t, times[0], times[1])
}

func TestCaughtFaultLeavesNothing(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCaughtFaultLeavesNothing) {
		return
	}
	a := start(t, ent.Entities())
	out, err := a.run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		if _, err := call("Person.upsert", `{"model":{"id":"ann","name":"Ann","email":"a"}}`); err != nil {
			return err
		}
		_, err := call("Person.upsert-many", `{"models":[{"name":"Bob","email":"b"},{"name":"Cid","email":"a"}]}`)
		if fault.CodeOf(err) != fault.Conflict {
			return fmt.Errorf("want a conflict, got %w", err)
		}
		_, err = call("Person.upsert", `{"model":{"id":"dan","name":"Dan","email":"d"}}`)
		return err
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"create Person ann", "create Person dan"}, said(out.Changes))
	require.EqualValues(t, 2, a.call("Person.count", `{}`)["count"])
}

func TestUncaughtFaultAndDryRunLeaveNothing(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUncaughtFaultAndDryRunLeaveNothing) {
		return
	}
	a := start(t, ent.Entities())
	boom := errors.New("boom")
	out, err := a.run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Todo.upsert", `{"model":{"title":"x"}}`)
		require.NoError(t, err)
		return boom
	}))
	require.Error(t, err)
	require.False(t, out.Committed)
	out, err = a.run(script(run.Spec{DryRun: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Todo.upsert", `{"model":{"title":"x"}}`)
		return err
	}))
	require.NoError(t, err)
	require.Len(t, out.Changes, 1)
	require.NotEmpty(t, out.Changes[0].After)
	require.EqualValues(t, 0, a.call("Todo.count", `{}`)["count"])
}

func TestNotAtomicCommitsEachCall(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNotAtomicCommitsEachCall) {
		return
	}
	a := start(t, ent.Entities())
	out, err := a.run(script(run.Spec{}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		for _, set := range []string{"default", "archive"} {
			if _, err := call("Todo.upsert", `{"model":{"title":"x"},"set":"`+set+`"}`); err != nil {
				return err
			}
		}
		_, err := call("Todo.patch", `{"id":"none","changes":{}}`)
		return err
	}))
	require.Error(t, err)
	require.True(t, out.Committed)
	require.EqualValues(t, 1, a.call("Todo.count", `{}`)["count"])
	require.EqualValues(t, 1, a.call("Todo.count", `{"set":"archive"}`)["count"])
}

func TestWritesToSeveralSetsWhereOneTransactionCan(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWritesToSeveralSetsWhereOneTransactionCan) {
		return
	}
	a := start(t, ent.Entities())
	_, err := a.run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		if _, err := call("Todo.count", `{"set":"archive"}`); err != nil {
			return err
		}
		if _, err := call("Todo.upsert", `{"model":{"title":"x"}}`); err != nil {
			return err
		}
		_, err := call("Todo.upsert", `{"model":{"title":"x"},"set":"tenant-a"}`)
		return err
	}))
	if postgres(t) { // one transaction there
		require.NoError(t, err)
		require.EqualValues(t, 1, a.call("Todo.count", `{}`)["count"])
		require.EqualValues(t, 1, a.call("Todo.count", `{"set":"tenant-a"}`)["count"])
		return
	}
	require.Equal(t, fault.CrossSet, fault.CodeOf(err))
	require.EqualValues(t, 0, a.call("Todo.count", `{}`)["count"])
}

func TestSetsAreSeparate(t *testing.T) {
	t.Parallel()
	if forEach(t, TestSetsAreSeparate) {
		return
	}
	a := start(t, ent.Entities())
	for _, set := range []string{"default", "tenant-a", "tenant-b"} {
		a.call("Todo.upsert", `{"model":{"id":"same","title":"`+set+`"},"set":"`+set+`"}`)
	}
	require.Equal(t, "tenant-a", a.call("Todo.get-by-id", `{"id":"same","set":"tenant-a"}`)["title"])
	var kept int
	require.NoError(t, beside(t, a.place, "tenant-b").QueryRow("SELECT count(*) FROM todos").Scan(&kept))
	require.Equal(t, 1, kept)
	a.as.Sets = []string{"tenant-a"}
	a.fails(fault.UnknownSet, "Todo.get-by-id", `{"id":"same","set":"tenant-b"}`)
}

func TestReceiptIsInTheData(t *testing.T) {
	t.Parallel()
	if forEach(t, TestReceiptIsInTheData) {
		return
	}
	a := start(t, ent.Entities())
	_, out, err := a.try("Todo.upsert", `{"model":{"id":"x","title":"x"}}`)
	require.NoError(t, err)
	_, read, err := a.try("Todo.count", `{}`)
	require.NoError(t, err)
	db, dialect := beside(t, a.place, "default"), sqltext.Dialect(sqltext.SQLite{})
	if postgres(t) {
		dialect = sqltext.PostgreSQL{}
	}
	receipts, err := ledger.Receipts(context.Background(), dialect, db, out.Run)
	require.NoError(t, err)
	require.Len(t, receipts, 1)
	require.Equal(t, "local", receipts[0].Subject)
	require.Contains(t, string(receipts[0].Result), `"title":"x"`)
	receipts, err = ledger.Receipts(context.Background(), dialect, db, read.Run)
	require.NoError(t, err)
	require.Empty(t, receipts)
}

func TestSeedsOnceAndNeverAgain(t *testing.T) {
	t.Parallel()
	if forEach(t, TestSeedsOnceAndNeverAgain) {
		return
	}
	seeds := 0
	seed := func(c *ent.Client, ctx context.Context) error {
		seeds++
		return c.Label.Create().SetName("seeded").Exec(ctx)
	}
	shimmed := func(fail error) ent.EntitiesOption {
		return ent.OnCreateSet(func(ctx context.Context, set string, c *ent.Client) error {
			if set != "default" {
				return nil
			}
			return errors.Join(seed(c, ctx), fail)
		})
	}
	where := place(t)
	p := entities.Provide(ent.Entities(shimmed(errors.New("no power"))), entities.Options{})
	require.Error(t, p.Start(context.Background(), host{where}))
	if folder, ok := strings.CutPrefix(where, "sqlite://"); ok {
		require.NoFileExists(t, filepath.Join(folder, "default.db"), "a half-filled set does not exist")
	}
	a := startIn(t, where, ent.Entities(shimmed(nil)))
	require.EqualValues(t, 1, a.call("Label.count", `{}`)["count"])
	require.EqualValues(t, 0, a.call("Label.count", `{"set":"archive"}`)["count"])
	a.call("Label.delete", `{"id":1}`)
	again := startIn(t, where, ent.Entities(shimmed(nil)))
	require.EqualValues(t, 0, again.call("Label.count", `{}`)["count"])
	require.Equal(t, 2, seeds)
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	p := entities.Provide(ent.Entities(), entities.Options{})
	err := p.Start(context.Background(), host{"sqlite://" + filepath.Join(file, "data")})
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.ErrorContains(t, err, filepath.Join(file, "data"))
	require.Contains(t, fault.From(err).Hint, "database")
}

func TestDoctorKnowsTheSets(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDoctorKnowsTheSets) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert", `{"model":{"title":"x"},"set":"archive"}`)
	checks := a.provider.Checks(context.Background())
	about := map[string]string{}
	for _, c := range checks {
		require.True(t, c.OK, c.Detail)
		about[c.Name] = c.Detail
	}
	require.Len(t, about, 4)
	require.Contains(t, about["database"], "2 sets: archive, default")
	require.Contains(t, about["schema"], "2 of 2 sets checked, all current")
	require.Contains(t, about["replay"], "0 runs kept")
	require.Contains(t, about["journal"], "not kept: journal.enabled is false")
}

// A read that fails spoils the transaction on PostgreSQL; the next attempt guards
// its reads, so that a script can go on after one.
func TestCaughtFailureOfARead(t *testing.T) {
	t.Parallel()
	a := startIn(t, pgtest.Place(t)+"&statement_timeout=300", ent.Entities())
	lock, err := beside(t, a.place, "default").Begin()
	require.NoError(t, err)
	_, err = lock.Exec("SET LOCAL statement_timeout = 0; LOCK TABLE labels IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Rollback()) }()
	out, err := a.run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		if _, err := call("Todo.count", `{}`); err != nil {
			return err
		}
		if _, err := call("Label.count", `{}`); fault.CodeOf(err) != fault.ServiceUnavailable {
			return fmt.Errorf("want service_unavailable, got %w", err)
		}
		_, err := call("Todo.upsert", `{"model":{"id":"x","title":"x"}}`)
		return err
	}))
	require.NoError(t, err)
	require.Equal(t, 2, out.Attempts)
	require.Equal(t, []string{"create Todo x"}, said(out.Changes))
}
