package engine_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/pgtest"
)

// Who creates a row reads no index page of its table, which all write to who create rows at the same time:
// on PostgreSQL each of them would be in another's way. What a transaction has read stays known while another
// one goes on that began before its end.
func TestCreatesReadNothing(t *testing.T) {
	t.Parallel()
	at := pgtest.Place(t)
	a, _ := followed(t, at, nil)
	db := beside(t, at, "default")
	other, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Rollback()) }()
	var n int
	require.NoError(t, other.QueryRow("SELECT count(*) FROM labels").Scan(&n))
	read := func() (n int) {
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
			WHERE mode = 'SIReadLock' AND relname LIKE 'todo%' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'todos'::regclass)`).Scan(&n))
		return n
	}
	for _, call := range []string{"Todo.create", "Todo.upsert"} {
		_, _, err = a.try(call, `{"model":{"title":"new"}}`)
		require.NoError(t, err)
		require.Zero(t, read(), call)
	}
	_, _, err = a.try("Todo.upsert-many", `{"models":[{"title":"one"},{"title":"two"}]}`)
	require.NoError(t, err)
	require.Zero(t, read(), "upsert-many")
	_, _, err = a.try("Todo.patch", `{"id":"`+firstID(t, db)+`","changes":{"title":"other"}}`)
	require.NoError(t, err)
	require.NotZero(t, read(), "what is read is seen here")
}

func firstID(t *testing.T, db *sql.DB) (id string) {
	require.NoError(t, db.QueryRow("SELECT id FROM todos ORDER BY id LIMIT 1").Scan(&id))
	return id
}

// What is kept of a new row is what a trigger of the database or a later call has made of it.
func TestNewRowsAreKeptAsTheyBecame(t *testing.T) {
	t.Parallel()
	at := pgtest.Place(t)
	a, log := followed(t, at, nil)
	head, err := log.Head(t.Context(), "default")
	require.NoError(t, err)
	seen := func(id, call string) {
		_, _, err := a.try("Todo.upsert", call)
		require.NoError(t, err)
		row, _, err := a.try("Todo.get-by-id", fmt.Sprintf(`{"id":%q}`, id))
		require.NoError(t, err)
		changes, last := a.seen(log, "default", head.Position)
		require.Len(t, changes, 1)
		require.JSONEq(t, string(row), string(changes[0].After))
		head.Position = last
	}
	seen("plain", `{"model":{"id":"plain","title":"x"}}`)
	_, err = beside(t, at, "default").Exec(`CREATE FUNCTION note() RETURNS trigger AS 'BEGIN UPDATE todos SET notes = ''by a trigger'' WHERE id = NEW.id; RETURN NEW; END' LANGUAGE plpgsql;
		CREATE TRIGGER note AFTER INSERT ON todos FOR EACH ROW EXECUTE FUNCTION note();`)
	require.NoError(t, err)
	seen("noted", `{"model":{"id":"noted","title":"x"}}`)
	_, err = beside(t, at, "default").Exec(`DROP TRIGGER note ON todos; CREATE RULE note AS ON INSERT TO todos DO ALSO UPDATE todos SET notes = 'by a rule' WHERE title = NEW.title`)
	require.NoError(t, err)
	out, _, err := a.try("Todo.create", `{"model":{"title":"ruled"}}`)
	require.NoError(t, err)
	var made struct{ ID string }
	require.NoError(t, json.Unmarshal(out, &made))
	row, _, err := a.try("Todo.get-by-id", fmt.Sprintf(`{"id":%q}`, made.ID))
	require.NoError(t, err)
	require.Contains(t, string(row), "by a rule")
	changes, last := a.seen(log, "default", head.Position)
	require.Len(t, changes, 1)
	require.JSONEq(t, string(row), string(changes[0].After))
	head.Position = last
	_, err = beside(t, at, "default").Exec(`DROP RULE note ON todos`)
	require.NoError(t, err)

	_, err = a.run(script(run.Spec{Atomic: true}, func(call func(op, input string) (map[string]any, error), _ *run.Attempt) error {
		if _, err := call("Todo.upsert", `{"model":{"id":"twice","title":"x"}}`); err != nil {
			return err
		}
		_, err := call("Todo.patch", `{"id":"twice","changes":{"title":"y"}}`)
		return err
	}))
	require.NoError(t, err)
	row, _, err = a.try("Todo.get-by-id", `{"id":"twice"}`)
	require.NoError(t, err)
	changes, _ = a.seen(log, "default", head.Position)
	require.Len(t, changes, 1)
	require.JSONEq(t, string(row), string(changes[0].After))
	require.Contains(t, string(changes[0].After), `"y"`)
}
