package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/race"
)

func TestOnceGivesTheFirstResult(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceGivesTheFirstResult) {
		return
	}
	place, w := place(t), &world{}
	one, two := newProcess(t, place, w, once.Options{}), newProcess(t, place, w, once.Options{})
	first, o, err := one.once("k", atomic, adds("a"))
	require.NoError(t, err)
	require.True(t, o.Committed)
	for _, p := range []*process{one, two, newProcess(t, place, w, once.Options{})} {
		again, r, err := p.once("k", atomic, adds("a"))
		require.NoError(t, err)
		require.Equal(t, first, again, "byte for byte")
		require.True(t, r.Repeated)
		require.Equal(t, o.Run, r.Run)
		require.Zero(t, r.Attempts)
	}
	require.Equal(t, 1, one.count("a"))

	other := atomic
	other.Fingerprint = "another script"
	_, _, err = two.once("k", other, adds("b"))
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	require.Equal(t, fault.Fix, fault.From(err).Retry)
	require.Equal(t, "/idempotencyKey", fault.From(err).Path)

	somebody := *two
	a := *two.app
	a.as = auth.Principal{Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}}
	somebody.app = &a
	his, _, err := somebody.once("k", other, adds("b"))
	require.NoError(t, err)
	require.NotEqual(t, first, his)
	require.Equal(t, 1, one.count("b"))
	a.as.Scopes = []string{"less"}
	_, _, err = somebody.once("k", other, adds("b"))
	require.Equal(t, fault.Conflict, fault.CodeOf(err), "a result is not for lesser rights")
	a.as.Subject = ""
	_, _, err = somebody.once("k", other, adds("b"))
	require.Equal(t, fault.Unauthorized, fault.CodeOf(err))
}

func TestOnceWithoutAWrite(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceWithoutAWrite) {
		return
	}
	place := place(t)
	p := newProcess(t, place, &world{}, once.Options{})
	count := func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		_, err := call("koan::Todo.count", `{}`)
		return "read", err
	}
	first, _, err := p.once("k", atomic, count)
	require.NoError(t, err)
	again, o, err := newProcess(t, place, &world{}, once.Options{}).once("k", atomic, count)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.True(t, o.Repeated)

	dry := run.Spec{DryRun: true}
	for range 2 {
		_, o, err := p.once("dry", dry, adds("dry"))
		require.NoError(t, err)
		require.False(t, o.Repeated)
	}
	_, o, err = p.once("dry", atomic, adds("dry"))
	require.NoError(t, err)
	require.False(t, o.Repeated, "a dry run takes no key")
	require.Equal(t, 1, p.count("dry"))
}

func TestOnceWhileItRuns(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestOnceWhileItRuns) {
		return
	}
	place := place(t)
	one, two := newProcess(t, place, &world{}, once.Options{}), newProcess(t, place, &world{}, once.Options{})
	reached, goOn := make(chan struct{}), make(chan struct{})
	var got string
	var failed error
	var g sync.WaitGroup
	g.Go(func() {
		got, _, failed = one.once("k", atomic, func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
			close(reached)
			<-goOn
			return adds("a")(call, a)
		})
	})
	<-reached
	for range 4 { // longer than the lease, which is kept alive
		time.Sleep(lease / 2)
		for _, p := range []*process{one, two} {
			_, _, err := p.once("k", atomic, adds("a"))
			require.Equal(t, fault.InProgress, fault.CodeOf(err))
			require.NotEmpty(t, fault.From(err).Details)
		}
	}
	close(goOn)
	g.Wait()
	require.NoError(t, failed)
	again, _, err := two.once("k", atomic, adds("a"))
	require.NoError(t, err)
	require.Equal(t, got, again)
}

func TestOnceManyAtOnce(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestOnceManyAtOnce) {
		return
	}
	place := place(t)
	processes := []*process{newProcess(t, place, &world{}, once.Options{}), newProcess(t, place, &world{}, once.Options{})}
	var mu sync.Mutex
	results := map[string]bool{}
	var g sync.WaitGroup
	for n := range 16 {
		g.Go(func() {
			for {
				out, _, err := processes[n%2].once("k", atomic, adds("a"))
				if fault.CodeOf(err) == fault.InProgress {
					time.Sleep(time.Millisecond)
					continue
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				results[out] = true
				return
			}
		})
	}
	g.Wait()
	require.Len(t, results, 1)
	require.Equal(t, 1, processes[0].count("a"))
}

func TestOnceAfterAFailure(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceAfterAFailure) {
		return
	}
	place, w := place(t), &world{}
	p := newProcess(t, place, w, once.Options{})
	var fails error
	work := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := call(upsert, `{"model":{"title":"a"}}`); err != nil {
			return "", err
		}
		return "", fails
	}
	sends := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := call(send, `{}`); err != nil {
			return "", err
		}
		return work(call, a)
	}
	// Nothing was left behind: the key is free.
	fails = fault.New(fault.JavaScriptError, "thrown")
	_, _, err := p.once("free", atomic, work)
	require.Equal(t, fault.JavaScriptError, fault.CodeOf(err))
	fails = nil
	_, o, err := p.once("free", atomic, work)
	require.NoError(t, err)
	require.False(t, o.Repeated)

	// Something was left outside, and the script is to blame: it failed for good.
	fails = fault.New(fault.JavaScriptError, "thrown")
	first, _, err := p.once("failed", atomic, sends)
	require.Equal(t, fault.JavaScriptError, fault.CodeOf(err))
	fails = nil
	again, o, err := newProcess(t, place, w, once.Options{}).once("failed", atomic, sends)
	require.Equal(t, fault.JavaScriptError, fault.CodeOf(err))
	require.Equal(t, first, again)
	require.True(t, o.Repeated)
	require.Len(t, w.seen(), 1)

	// Something was left outside, and nobody is to blame: it goes on.
	fails = fault.New(fault.SetBusy, "too many")
	_, _, err = p.once("busy", atomic, sends)
	require.Equal(t, fault.SetBusy, fault.CodeOf(err))
	fails = nil
	_, o, err = newProcess(t, place, w, once.Options{}).once("busy", atomic, sends)
	require.NoError(t, err)
	require.False(t, o.Repeated)
	require.Len(t, w.seen(), 2, "the call is not made again")
	require.Equal(t, 2, p.count("a"))

	// A call that says itself that nothing happened leaves nothing behind.
	w.fails = fault.New(fault.PluginUnavailable, "down")
	_, _, err = p.once("down", atomic, sends)
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
	w.fails = nil
	_, _, err = p.once("down", atomic, sends)
	require.NoError(t, err)
	require.Len(t, w.seen(), 4)
}

// TestOnceThoughTheHolderWasDead: a process that nobody has heard of for longer
// than its lease wakes up when another one has done its work.
func TestOnceThoughTheHolderWasDead(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestOnceThoughTheHolderWasDead) {
		return
	}
	place, w := place(t), &world{}
	one, two := newProcess(t, place, w, once.Options{}), newProcess(t, place, w, once.Options{})
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var got string
	var failed error
	var g sync.WaitGroup
	one.ledger.cut("renew")
	g.Go(func() {
		got, _, failed = one.once("k", atomic, func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
			if _, err := call(send, `{}`); err != nil {
				return "", err
			}
			once.Do(func() { close(reached) })
			<-goOn
			return adds("a")(call, a)
		})
	})
	<-reached
	time.Sleep(lease + 100*time.Millisecond)
	work := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := call(send, `{}`); err != nil {
			return "", err
		}
		return adds("a")(call, a)
	}
	second, o, err := two.once("k", atomic, work)
	require.NoError(t, err)
	require.False(t, o.Repeated)
	close(goOn)
	g.Wait()
	require.NoError(t, failed)
	require.Equal(t, second, got, "it gives what the other has committed")
	require.Equal(t, 1, two.count("a"))
	require.Len(t, w.seen(), 1, "the call that was made before is not made again")
}

// TestOnceTwoCommits: both holders have told the ledger that they commit; the
// receipt lets one of them.
func TestOnceTwoCommits(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceTwoCommits) {
		return
	}
	place := place(t)
	one, two := newProcess(t, place, &world{}, once.Options{}), newProcess(t, place, &world{}, once.Options{})
	slow := &slowCommit{Ledger: one.ledger.Ledger, reached: make(chan struct{}), goOn: make(chan struct{})}
	one.engine = run.NewEngine(run.Options{})
	one.engine.Join(keysOf(slow, once.Options{Lease: lease}))
	var got string
	var failed error
	var g sync.WaitGroup
	g.Go(func() { got, _, failed = one.once("k", atomic, adds("a")) })
	<-slow.reached
	if !postgres(t) { // a dead process holds no lock
		close(slow.goOn)
		g.Wait()
	} else {
		time.Sleep(lease + 100*time.Millisecond)
	}
	second, o, err := two.once("k", atomic, adds("a"))
	require.NoError(t, err)
	if postgres(t) {
		require.False(t, o.Repeated)
		close(slow.goOn)
		g.Wait()
	}
	require.NoError(t, failed)
	require.Equal(t, second, got, "both give what was committed")
	require.Equal(t, 1, two.count("a"))
}

// slowCommit sleeps between the word to the ledger and the commit.
type slowCommit struct {
	once.Ledger
	reached, goOn chan struct{}
	once          sync.Once
}

func (s *slowCommit) Renew(context.Context, once.Hold) error { return errDead }

func (s *slowCommit) Commits(ctx context.Context, h once.Hold, sets, scope []string) error {
	err := s.Ledger.Commits(ctx, h, sets, scope)
	s.once.Do(func() {
		close(s.reached)
		<-s.goOn
	})
	return err
}

func TestOnceCutOff(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceCutOff) {
		return
	}
	place, w := place(t), &world{}
	one, two := newProcess(t, place, w, once.Options{}), newProcess(t, place, w, once.Options{})

	// After the commit: the receipt tells.
	one.ledger.cut("renew", "end")
	first, _, err := one.once("committed", atomic, adds("a"))
	require.NoError(t, err)
	time.Sleep(lease + 100*time.Millisecond)
	for range 2 {
		again, o, err := two.once("committed", atomic, adds("a"))
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.True(t, o.Repeated)
	}
	require.Equal(t, 1, two.count("a"))

	// In the middle of a call outside.
	one.ledger.cut("renew", "end", "settle")
	sends := func(id, input string) job {
		return func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
			_, err := call(id, input)
			if err == nil && one.ledger.is("end") {
				err = fault.New(fault.SetBusy, "the power goes")
			}
			return "sent", err
		}
	}
	_, o, _ := one.once("open", atomic, sends(send, `{}`))
	_, _, _ = one.once("again", atomic, sends(put, `{}`))
	_, _, _ = one.once("elsewhere", atomic, sends(put, `{"n":1}`))
	one.ledger.cut("renew", "end")
	_, _, _ = one.once("without", atomic, sends(send, `{}`))
	require.Len(t, w.seen(), 4)
	time.Sleep(lease + 100*time.Millisecond)
	one.ledger.cut()
	for range 2 {
		_, told, err := two.once("open", atomic, sends(send, `{}`))
		require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(err))
		require.Len(t, told.OutsideEffects, 1)
		require.Equal(t, "world.send", told.OutsideEffects[0].ToolName)
		call := fault.From(err).Details.(map[string]any)["call"].(map[string]any)
		require.Equal(t, send, call["operation"])
		require.Equal(t, o.Run+":1", call["key"])
	}
	_, _, err = two.once("again", atomic, sends(put, `{}`))
	require.NoError(t, err, "what may be done twice is done again")
	keys := w.seen()
	require.Equal(t, keys[1], keys[4], "under the same key")

	// On another way than before the cut.
	_, _, err = two.once("elsewhere", atomic, sends(put, `{"n":2}`))
	require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(err))
	_, o, err = two.once("without", atomic, adds("b"))
	require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(err))
	require.Len(t, o.OutsideEffects, 1, "what was done before the cut is told")
	require.Zero(t, two.count("b"), "nothing was committed")
	require.Len(t, w.seen(), 5)
}

// TestOnceOverAttempts: an attempt that gives way to a slow call outside, and one
// whose snapshot is stale, hold the same key.
func TestOnceOverAttempts(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestOnceOverAttempts) {
		return
	}
	place, w := place(t), &world{slow: 50 * time.Millisecond}
	one, two := newProcess(t, place, w, once.Options{}), newProcess(t, place, w, once.Options{})
	one.engine = run.NewEngine(run.Options{Lock: time.Millisecond})
	one.engine.Join(keysOf(one.ledger, once.Options{Lease: lease}))
	one.call("Todo.upsert", `{"model":{"id":"x","title":"counter"}}`)
	work := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := call("koan::Todo.get-by-id", `{"id":"x"}`); err != nil {
			return "", err
		}
		if a.Number() == 1 {
			two.call("Todo.patch", `{"id":"x","changes":{"notes":"faster"}}`)
		}
		if _, err := call("koan::Todo.patch", `{"id":"x","changes":{"title":"a"}}`); err != nil {
			return "", err
		}
		_, err := call(send, `{}`)
		return "", err
	}
	first, o, err := one.once("k", atomic, work)
	require.NoError(t, err)
	require.Greater(t, o.Attempts, 1)
	require.Len(t, w.seen(), 1, "the call is on the tape")
	again, _, err := two.once("k", atomic, work)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// The databases of an app have the tables that commits write to, and no others: keys, plans and the
// journal are in the place of the ledger.
func TestTablesInDatabasesOfTheApp(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	if forEach(t, TestTablesInDatabasesOfTheApp) {
		return
	}
	source, db := ownDatabase(t)
	a, _ := served(t, source, ent.Entities())
	require.NotNil(t, a.provider.Books().Keys)
	a.call("Todo.upsert", `{"model":{"title":"a"}}`)
	for table, there := range map[string]bool{"koan_receipts": true, "koan_replies": true, "koan_identity": true, "koan_changes": false, "koan_journal_runs": false, "koan_plans": false, "koan_journal": false} {
		_, err := db.Exec("SELECT count(*) FROM " + table)
		require.Equal(t, there, err == nil, "%s: %v", table, err)
	}
}

func TestOnceCallByCall(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceCallByCall) {
		return
	}
	place := place(t)
	one, two := newProcess(t, place, &world{}, once.Options{}), newProcess(t, place, &world{}, once.Options{})
	both := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := adds("a")(call, a); err != nil {
			return "", err
		}
		return adds("a")(call, a)
	}
	first, _, err := one.once("k", run.Spec{}, both)
	require.NoError(t, err)
	again, _, err := two.once("k", run.Spec{}, both)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, 2, two.count("a"))

	one.ledger.cut("renew", "end")
	_, _, err = one.once("cut", run.Spec{}, both)
	require.NoError(t, err)
	time.Sleep(lease + 100*time.Millisecond)
	_, _, err = two.once("cut", run.Spec{}, both)
	require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(err))
	require.EqualValues(t, 2, fault.From(err).Details.(map[string]any)["commits"])

	one.ledger.cut()
	failing := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := adds("b")(call, a); err != nil {
			return "", err
		}
		return "", fault.New(fault.JavaScriptError, "thrown")
	}
	for range 2 {
		_, _, err = one.once("failed", run.Spec{}, failing)
		require.Equal(t, fault.JavaScriptError, fault.CodeOf(err))
	}
	require.Equal(t, 1, one.count("b"), "what was committed before the failure is there once")
}
