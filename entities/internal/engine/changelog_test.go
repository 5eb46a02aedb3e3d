package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	stdatomic "sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/internal/changelog"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// recording has the runs of an engine keep their changes.
func recording(p *entities.Provider, e *run.Engine) {
	j := record.New(record.Options{}).Add(p.Books().Journal.Sink())
	j.KeepChanges()
	e.Join(j)
}

// followed is the fixture, whose changes are kept.
func followed(t *testing.T, at string, settings map[string]any) (*app, follow.Log) {
	t.Helper()
	p := entities.Provide(ent.Entities(), entities.Options{})
	require.NoError(t, p.Start(context.Background(), journalHost{host{at}, settings}))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	s, err := catalog.NewSnapshot(p.Offer())
	require.NoError(t, err)
	e := run.NewEngine(run.Options{})
	recording(p, e)
	who := auth.Principal{Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}}
	return &app{TB: t, engine: e, provider: p, as: who, view: s.View(who, exposure.Full, false)}, p.Books().ChangeLog
}

func (a *app) reader() follow.Reader { return follow.Reader{View: a.view, Principal: a.as} }

// seen returns what somebody sees of the changes of a set after a position.
func (a *app) seen(log follow.Log, set string, after int64) (out []follow.Change, last int64) {
	a.Helper()
	entries, err := log.Entries(context.Background(), set, after, 10_000)
	require.NoError(a, err)
	for i := range entries {
		require.Empty(a, entries[i].Missing)
		changes, err := log.See(context.Background(), a.reader(), &entries[i])
		require.NoError(a, err)
		out, last = append(out, changes...), entries[i].Position
	}
	return out, last
}

// Who adds up what it sees of changes has what it can read, whatever policies hide from it:
// rows that enter and leave its sight included.
func TestSeenChangesAddUpToWhatCanBeRead(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSeenChangesAddUpToWhatCanBeRead) {
		return
	}
	o := openOfficeOn(t, journalHost{host{place(t)}, nil}, recording)
	log := o.provider.Books().ChangeLog
	random := rand.New(rand.NewPCG(1, 2))
	admin := o.people["admin"]
	for range 60 {
		id := string(rune('p' + random.IntN(6)))
		tenant := []string{"ann", "bob", "carl"}[random.IntN(3)]
		switch random.IntN(5) {
		case 0:
			_, _, _ = admin.try("Document.delete", fmt.Sprintf(`{"id":%q}`, id))
		case 1:
			_, _, _ = admin.try("Document.patch", fmt.Sprintf(`{"id":%q,"changes":{"title":"t%d"}}`, id, random.IntN(3)))
		case 2:
			_, _, _ = admin.try("Person.patch", fmt.Sprintf(`{"id":"%d","changes":{"left":%t,"pay":%d}}`, 1+random.IntN(3), random.IntN(2) == 0, random.IntN(9)))
		default:
			_, _, _ = admin.try("Document.upsert", fmt.Sprintf(`{"model":{"id":%q,"tenant":%q,"title":"x","pages":%d}}`, id, tenant, random.IntN(5)))
		}
	}
	for name, who := range o.people {
		have := map[string]string{}
		changes, _ := who.seen(log, "default", 0)
		for _, c := range changes {
			at := c.Entity + "/" + c.ID
			was, there := have[at]
			switch c.Action {
			case store.Create:
				require.False(t, there, "%s sees %s created twice", name, at)
				require.Nil(t, c.Before)
				have[at] = string(c.After)
			case store.Update:
				require.Equal(t, was, string(c.Before), "%s: %s", name, at)
				have[at] = string(c.After)
			case store.Delete:
				require.Equal(t, was, string(c.Before), "%s: %s", name, at)
				require.Nil(t, c.After)
				delete(have, at)
			}
		}
		want := map[string]string{}
		for _, entity := range []string{"Document", "Person", "Folder"} {
			out, _, err := who.try(entity+".collection", `{"pageSize":200}`)
			if fault.CodeOf(err) == fault.Forbidden {
				continue
			}
			require.NoError(t, err)
			var page struct{ Items []json.RawMessage }
			require.NoError(t, json.Unmarshal(out, &page))
			for _, item := range page.Items {
				var row struct{ ID string }
				require.NoError(t, json.Unmarshal(item, &row))
				want[entity+"/"+row.ID] = string(item)
			}
		}
		require.Equal(t, want, have, name)
	}
	// A tenant never hears of another's rows, not even of their ids.
	changes, _ := o.people["bob"].seen(log, "default", 0)
	require.NotEmpty(t, changes)
	for _, c := range changes {
		require.NotContains(t, string(c.Before)+string(c.After), `"tenant":"ann"`)
		require.NotContains(t, string(c.Before)+string(c.After), `"pay"`, "a field behind a scope")
	}
}

// All types of columns are in events as they are when they are read.
func TestSeenChangesAreAsRead(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSeenChangesAreAsRead) {
		return
	}
	a, log := followed(t, place(t), nil)
	head, err := log.Head(t.Context(), "default")
	require.NoError(t, err)
	for _, model := range []string{
		`{"title":"plain"}`,
		`{"id":"full","title":"\u00fc\u2028\n","completed":true,"priority":"high","dueDate":"2026-02-03T04:05:06.789012Z","notes":"n","tags":["a","b\n"],"effort":0.1,"views":9007199254740993,"secret":"s3cret"}`,
		`{"id":"full","dueDate":null,"tags":[],"effort":1e-7}`,
	} {
		row, _, err := a.try("Todo.upsert", `{"model":`+model+`}`)
		require.NoError(t, err)
		changes, last := a.seen(log, "default", head.Position)
		require.Len(t, changes, 1)
		require.Equal(t, string(row), string(changes[0].After))
		require.NotContains(t, string(changes[0].After), "s3cret")
		head.Position = last
	}
}

// However many write at once, nobody who reads the log again and again from where it was misses
// a commit, and no commit comes before one that was seen.
func TestLogIsInTheOrderOfCommits(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLogIsInTheOrderOfCommits) {
		return
	}
	at := place(t)
	one, log := followed(t, at, nil)
	two, other := followed(t, at, nil)
	const writers, each = 6, 25
	var running sync.WaitGroup
	var failed stdatomic.Int64
	for n := range writers {
		running.Go(func() {
			for i := range each {
				a := []*app{one, two}[n%2]
				// Several statements, so that transactions overlap.
				op := script(run.Spec{Atomic: true}, func(call func(op, input string) (map[string]any, error), _ *run.Attempt) error {
					for part := range 1 + (n+i)%3 {
						if _, err := call("Todo.upsert", fmt.Sprintf(`{"model":{"id":"w%d-%d-%d","title":"x"}}`, n, i, part)); err != nil {
							return err
						}
					}
					return nil
				})
				if _, err := a.run(op); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	var runs []string
	after := int64(0)
	read := func() {
		entries, err := other.Entries(context.Background(), "default", after, 7)
		require.NoError(t, err)
		for _, e := range entries {
			require.Greater(t, e.Position, after)
			after, runs = e.Position, append(runs, e.Run)
		}
	}
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		read()
	}
	for n := -1; n != len(runs); {
		n = len(runs)
		read()
	}
	require.LessOrEqual(t, failed.Load(), int64(writers*each/10), "so much for the load")
	whole, err := log.Entries(t.Context(), "default", 0, 100_000)
	require.NoError(t, err)
	want := make([]string, len(whole))
	for i, e := range whole {
		want[i] = e.Run
	}
	require.Equal(t, want, runs, "as somebody sees it who comes later")
	slices.Sort(runs)
	require.Len(t, slices.Compact(runs), writers*each-int(failed.Load()))
}

// What is too old is removed; who has not read it is told.
func TestLogIsPruned(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLogIsPruned) {
		return
	}
	at := place(t)
	a, log := followed(t, at, map[string]any{"events.keepHours": 1})
	var heads []follow.Head
	for i := range 3 {
		a.call("Todo.upsert", fmt.Sprintf(`{"model":{"id":"t%d","title":"x"}}`, i))
		head, err := log.Head(t.Context(), "default")
		require.NoError(t, err)
		heads = append(heads, head)
	}
	holds := func(h follow.Head) bool {
		t.Helper()
		ok, err := log.Holds(t.Context(), "default", h)
		require.NoError(t, err)
		return ok
	}
	require.True(t, holds(follow.Head{}))
	require.True(t, holds(heads[0]))
	require.False(t, holds(follow.Head{Position: heads[0].Position, Mark: "00000000"}), "another history")
	require.False(t, holds(follow.Head{Position: 1 << 40, Mark: "00000000"}))
	age := fmt.Sprintf("UPDATE koan_changes SET at = %d WHERE position <= %d", time.Now().Add(-2*time.Hour).UnixMilli(), heads[1].Position)
	db := beside(t, at, "default")
	_, err := db.Exec(age)
	require.NoError(t, err)
	require.NoError(t, log.(*changelog.Log).Prune(t.Context(), "default", false))
	require.False(t, holds(follow.Head{}))
	require.False(t, holds(heads[0]))
	require.True(t, holds(heads[1]), "everything after it is there")
	require.True(t, holds(heads[2]))
	entries, err := log.Entries(t.Context(), "default", 0, 10)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, log.(*changelog.Log).Prune(t.Context(), "default", false))
	require.True(t, holds(heads[1]))
}

// Beyond its room the log loses its oldest entries, though they are not old.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLogIsBounded) {
		return
	}
	at := place(t)
	a, log := followed(t, at, map[string]any{"events.keepHours": 1, "events.maxMb": 1})
	for i := range 5 {
		a.call("Todo.upsert", fmt.Sprintf(`{"model":{"id":"t%d","title":"x"}}`, i))
	}
	log.(*changelog.Log).Close() // else what runs in the background prunes, too
	_, err := beside(t, at, "default").Exec("UPDATE koan_changes SET changes = " + map[bool]string{true: "decode(repeat('00', 400000), 'hex')", false: "zeroblob(400000)"}[pgtest.Here(t)])
	require.NoError(t, err)
	before, err := log.Head(t.Context(), "default")
	require.NoError(t, err)
	require.NoError(t, log.(*changelog.Log).Prune(t.Context(), "default", false))
	entries, err := log.Entries(t.Context(), "default", 0, 10)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	require.EqualValues(t, 1, entries[0].Position, "nothing is too old")
	require.NoError(t, log.(*changelog.Log).Prune(t.Context(), "default", true))
	entries, err = log.Entries(t.Context(), "default", 0, 10)
	require.NoError(t, err)
	require.Equal(t, before.Position-1, entries[0].Position, "the last two have room")
	ok, err := log.Holds(t.Context(), "default", follow.Head{Position: before.Position - 3, Mark: "00000000"})
	require.NoError(t, err)
	require.False(t, ok, "who has not read them is told")
	ok, err = log.Holds(t.Context(), "default", before)
	require.NoError(t, err)
	require.True(t, ok)
}

// The log is no place where secrets of deleted rows stay readable.
func TestLogSealsSecrets(t *testing.T) {
	t.Parallel()
	at := place(t)
	a, log := followed(t, at, nil)
	a.call("Todo.upsert", `{"model":{"id":"a","title":"x","secret":"s3cret-value"}}`)
	a.call("Todo.delete", `{"id":"a"}`)
	var raw []byte
	require.NoError(t, beside(t, at, "default").QueryRow("SELECT changes FROM koan_changes ORDER BY position DESC LIMIT 1").Scan(&raw))
	require.Contains(t, string(raw), `"title"`)
	require.NotContains(t, string(raw), "s3cret")
	entries, err := log.Entries(t.Context(), "default", 0, 10)
	require.NoError(t, err)
	require.Empty(t, entries[0].Sealed)
	require.True(t, strings.Contains(string(entries[0].Images[0].Secret), "s3cret-value"))
}

// Row level security cannot be asked about rows as they were: who is under it is refused,
// whether or not its session has variables.
func TestRowLevelSecurityIsRefused(t *testing.T) {
	t.Parallel()
	a := openRowSecured(t, false)
	a.ann.call("Todo.upsert", `{"model":{"id":"a","title":"x","notes":"ann"}}`)
	for _, who := range []*app{a.ann, a.nobody} {
		_, err := who.provider.Books().ChangeLog.See(t.Context(), who.reader(), &follow.Entry{Set: "default"})
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	}
}
