package engine_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/tests/fixture/ent"
)

const rows = 10000

// filled is the fixture app with many todos, and a raw connection beside it.
func filled(b *testing.B) (*app, *sql.DB) {
	b.Helper()
	return filledWith(b, ent.Entities())
}

func filledWith(b *testing.B, shimmed *shim.App) (*app, *sql.DB) {
	b.Helper()
	a := start(b, shimmed)
	for page := range rows / 1000 {
		models := make([]map[string]any, 1000)
		for i := range models {
			n := page*1000 + i
			models[i] = map[string]any{
				"id": "todo-" + strconv.Itoa(n), "title": "Todo number " + strconv.Itoa(n), "completed": n%2 == 0, "priority": []string{"low", "medium", "high"}[n%3],
				"dueDate": time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC), "notes": "Some words about it.", "effort": float64(n%100) / 4, "views": n * 7919 % rows,
			}
		}
		a.call("Todo.upsert-many", string(encode(b, map[string]any{"models": models})))
	}
	return a, beside(b, a.place, "default")
}

// todoColumns are those of a todo; on SQLite times are taken as texts, which spares
// the driver from reading them.
func todoColumns(b *testing.B) string {
	const columns = "id, title, completed, priority, due_date||'', notes, tags, effort, views, version, created_at||'', updated_at||'', assigned_user_id"
	if postgres(b) {
		return strings.ReplaceAll(columns, "||''", "")
	}
	return columns
}

// stamp is a time as either database gives it.
type stamp struct{ sql.NullString }

func (s *stamp) Scan(v any) error {
	if t, ok := v.(time.Time); ok {
		s.String, s.Valid = t.UTC().Format(time.RFC3339Nano), true
		return nil
	}
	return s.NullString.Scan(v)
}

// rawTodo is what one would write by hand for this one table: variables to scan
// into, and their JSON.
type rawTodo struct {
	id, title, priority   string
	due, created, updated stamp
	notes, tags, user     sql.NullString
	completed             bool
	effort                sql.NullFloat64
	views, version        int64
}

func (r *rawTodo) scan(rows *sql.Rows) error {
	return rows.Scan(&r.id, &r.title, &r.completed, &r.priority, &r.due, &r.notes, &r.tags, &r.effort, &r.views, &r.version, &r.created, &r.updated, &r.user)
}

func (r *rawTodo) append(out []byte) []byte {
	null := func(key string, s sql.NullString) {
		out = append(append(out, key...), "null"...)
		if s.Valid {
			out = strconv.AppendQuote(out[:len(out)-4], s.String)
		}
	}
	text := func(key, s string) { out = strconv.AppendQuote(append(out, key...), s) }
	text(`{"id":`, r.id)
	text(`,"title":`, r.title)
	out = strconv.AppendBool(append(out, `,"completed":`...), r.completed)
	text(`,"priority":`, r.priority)
	null(`,"dueDate":`, r.due.NullString)
	null(`,"notes":`, r.notes)
	null(`,"tags":`, r.tags)
	out = strconv.AppendFloat(append(out, `,"effort":`...), r.effort.Float64, 'f', -1, 64)
	out = strconv.AppendInt(append(out, `,"views":`...), r.views, 10)
	out = strconv.AppendInt(append(out, `,"version":`...), r.version, 10)
	null(`,"createdAt":`, r.created.NullString)
	null(`,"updatedAt":`, r.updated.NullString)
	null(`,"assignedUserId":`, r.user)
	return append(out, '}')
}

// raw runs a prepared statement and returns the JSON of its rows.
func raw(ctx context.Context, s *sql.Stmt, args ...any) ([]byte, error) {
	found, err := s.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var out []byte
	var r rawTodo
	for found.Next() {
		if err := r.scan(found); err != nil {
			return nil, err
		}
		out = r.append(out)
	}
	return out, found.Err()
}

// compare reports what one call through the whole path costs against the raw
// statement, measured in turns in the same run.
func compare(b *testing.B, call func(i int), hand func(i int)) {
	b.Helper()
	var ours, theirs time.Duration
	const turn = 50
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += turn {
		begin := time.Now()
		for n := i; n < min(i+turn, b.N); n++ {
			call(n)
		}
		ours += time.Since(begin)
		b.StopTimer()
		begin = time.Now()
		for n := i; n < min(i+turn, b.N); n++ {
			hand(n)
		}
		theirs += time.Since(begin)
		b.StartTimer()
	}
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N), "raw-ns/op")
}

// BenchmarkGet is get-by-id as one call of its own run.
func BenchmarkGet(b *testing.B) {
	if forEach(b, BenchmarkGet) {
		return
	}
	a, db := filled(b)
	s, err := db.Prepare(marks(b, "SELECT "+todoColumns(b)+" FROM todos WHERE id = ?"))
	require.NoError(b, err)
	id := func(i int) string { return "todo-" + strconv.Itoa(i*7919%rows) }
	compare(b, func(i int) {
		_, _, err := a.try("Todo.get-by-id", `{"id":"`+id(i)+`"}`)
		require.NoError(b, err)
	}, func(i int) {
		_, err := raw(context.Background(), s, id(i))
		require.NoError(b, err)
	})
}

// BenchmarkGetInScript is get-by-id as one of many calls of a run.
func BenchmarkGetInScript(b *testing.B) {
	if forEach(b, BenchmarkGetInScript) {
		return
	}
	a, db := filled(b)
	s, err := db.Prepare(marks(b, "SELECT "+todoColumns(b)+" FROM todos WHERE id = ?"))
	require.NoError(b, err)
	id := func(i int) string { return "todo-" + strconv.Itoa(i*7919%rows) }
	inScript(b, a, "get-by-id", func(invoke func(string)) {
		compare(b, func(i int) { invoke(`{"id":"` + id(i) + `"}`) }, func(i int) {
			_, err := raw(context.Background(), s, id(i))
			require.NoError(b, err)
		})
	})
}

// BenchmarkCollection20 is a page of 20 rows, filtered and sorted, as one of many
// calls of a run.
func BenchmarkCollection20(b *testing.B) {
	if forEach(b, BenchmarkCollection20) {
		return
	}
	a, db := filled(b)
	s, err := db.Prepare(marks(b, "SELECT "+todoColumns(b)+" FROM todos WHERE completed = ? AND views >= ? ORDER BY id LIMIT 20"))
	require.NoError(b, err)
	inScript(b, a, "collection", func(invoke func(string)) {
		compare(b, func(i int) {
			invoke(fmt.Sprintf(`{"filter":{"completed":true,"views":{"$gte":%d}},"pageSize":20,"count":false}`, i%100))
		}, func(i int) {
			_, err := raw(context.Background(), s, true, i%100)
			require.NoError(b, err)
		})
	})
}

// inScript lets fn make calls of one operation of Todo inside of one run.
func inScript(b *testing.B, a *app, op string, fn func(invoke func(input string))) {
	b.Helper()
	id := catalog.EntityID("Todo", op)
	_, err := a.run(body(run.Spec{Atomic: true}, func(ctx context.Context, attempt *run.Attempt) error {
		fn(func(input string) {
			_, err := attempt.Invoke(ctx, attempt.Next(), id, json.RawMessage(input))
			require.NoError(b, err)
		})
		return nil
	}))
	require.NoError(b, err)
}

// BenchmarkPatch is a patch as one of many calls of a run, against the UPDATE by
// hand in a transaction, which reads back what became of the row as a patch does.
func BenchmarkPatch(b *testing.B) {
	if forEach(b, BenchmarkPatch) {
		return
	}
	a, _ := filled(b)
	_, db := filled(b) // a file of its own: it has one writer at a time
	tx, err := db.Begin()
	require.NoError(b, err)
	s, err := tx.Prepare(marks(b, "UPDATE todos SET views = ?, version = version + 1, updated_at = ? WHERE id = ? RETURNING "+todoColumns(b)))
	require.NoError(b, err)
	inScript(b, a, "patch", func(invoke func(string)) {
		compare(b, func(i int) {
			invoke(fmt.Sprintf(`{"id":%q,"changes":{"views":%d}}`, scattered(i), i))
		}, func(i int) {
			_, err := raw(context.Background(), s, i, time.Now().UTC(), scattered(i))
			require.NoError(b, err)
		})
	})
	require.NoError(b, tx.Rollback())
}

func scattered(i int) string { return "todo-" + strconv.Itoa(i*7919%rows) }

// BenchmarkUpsert is an upsert as one of many calls of a run: one half creates,
// the other changes.
func BenchmarkUpsert(b *testing.B) {
	if forEach(b, BenchmarkUpsert) {
		return
	}
	a, _ := filled(b)
	_, db := filled(b)
	tx, err := db.Begin()
	require.NoError(b, err)
	s, err := tx.Prepare(marks(b, `INSERT INTO todos (id, title, completed, priority, views, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET title = excluded.title, views = excluded.views, version = todos.version + 1, updated_at = excluded.updated_at RETURNING `+todoColumns(b)))
	require.NoError(b, err)
	id := func(i int) string { return "todo-" + strconv.Itoa(i*7919%(2*rows)) }
	inScript(b, a, "upsert", func(invoke func(string)) {
		compare(b, func(i int) {
			invoke(fmt.Sprintf(`{"model":{"id":%q,"title":"Stored again","views":%d}}`, id(i), i))
		}, func(i int) {
			now := time.Now().UTC()
			_, err := raw(context.Background(), s, id(i), "Stored again", false, "medium", i, 1, now, now)
			require.NoError(b, err)
		})
	})
	require.NoError(b, tx.Rollback())
}

// BenchmarkUpsertMany creates 1,000 rows in one call that is a run of its own,
// against as many single INSERTs by hand in a transaction, which read back what was
// stored as the call does: it owes its caller the stored entities.
func BenchmarkUpsertMany(b *testing.B) {
	if forEach(b, BenchmarkUpsertMany) {
		return
	}
	many(b, " RETURNING "+todoColumns(b), func(s *sql.Stmt, args ...any) error {
		_, err := raw(context.Background(), s, args...)
		return err
	})
}

// BenchmarkUpsertManyBlind is the same against INSERTs that read nothing back.
func BenchmarkUpsertManyBlind(b *testing.B) {
	if forEach(b, BenchmarkUpsertManyBlind) {
		return
	}
	many(b, "", func(s *sql.Stmt, args ...any) error {
		_, err := s.Exec(args...)
		return err
	})
}

func many(b *testing.B, returning string, one func(s *sql.Stmt, args ...any) error) {
	a, _ := filled(b)
	_, db := filled(b)
	models := make([]map[string]any, 1000)
	for n := range models {
		models[n] = map[string]any{"title": "One of many", "priority": "low", "views": n}
	}
	input := string(encode(b, map[string]any{"models": models})) // the caller's work
	compare(b, func(int) {
		_, _, err := a.try("Todo.upsert-many", input)
		require.NoError(b, err)
	}, func(int) {
		tx, err := db.Begin()
		require.NoError(b, err)
		s, err := tx.Prepare(marks(b, `INSERT INTO todos (id, title, completed, priority, views, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`) + returning)
		require.NoError(b, err)
		for n := range 1000 {
			now := time.Now().UTC()
			require.NoError(b, one(s, uuid.Must(uuid.NewV7()).String(), "One of many", false, "low", n, 1, now, now))
		}
		require.NoError(b, tx.Commit())
	})
}

// BenchmarkOnce writes one row in a run, without a key and under one.
func BenchmarkOnce(b *testing.B) {
	if forEach(b, BenchmarkOnce) {
		return
	}
	a := start(b, ent.Entities())
	a.engine.Join(keysOf(a.provider.Books().Keys, once.Options{}))
	write := func(key string) {
		spec := run.Spec{Atomic: true, Once: run.Once{IdempotencyKey: key}, Reply: func(run.Return, *run.Outcome, error) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }}
		_, err := a.run(script(spec, func(call func(op, input string) (map[string]any, error), _ *run.Attempt) error {
			_, err := call("Todo.upsert", `{"model":{"title":"x"}}`)
			return err
		}))
		require.NoError(b, err)
	}
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			write("")
		}
	})
	n := 0
	b.Run("keyed", func(b *testing.B) {
		for b.Loop() {
			n++
			write(fmt.Sprint(n))
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			write("1")
		}
	})
}
