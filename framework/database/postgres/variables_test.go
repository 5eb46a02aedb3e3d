package postgres

import (
	"context"
	"testing"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

func TestVariablesHoldForAStatement(t *testing.T) {
	d := use(t, opened(t, pgtest.Place(t)+"&pool_max_conns=2", things()), "default")
	as := func(tx *Tx, ctx context.Context, name string) (value string) {
		t.Helper()
		rows, err := tx.QueryContext(ctx, "SELECT coalesce(current_setting($1, true), '')", name)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			require.NoError(t, rows.Scan(&value))
		}
		require.NoError(t, rows.Err())
		return value
	}
	const odd = `it's \ "odd"); DROP TABLE things; --$1`
	ann, bob := entsql.WithVar(entsql.WithVar(ctx, "app.who", "ann"), "app.role", odd), entsql.WithVar(ctx, "app.who", "bob")

	tx := begin(t, d, true)
	require.Equal(t, "ann", as(tx, ann, "app.who"))
	require.Equal(t, odd, as(tx, ann, "app.role"))
	require.Equal(t, "bob", as(tx, bob, "app.who"))
	require.Empty(t, as(tx, bob, "app.role"), "what another caller's statements had")
	end, err := tx.Savepoint(ctx, false)
	require.NoError(t, err)
	require.Equal(t, "ann", as(tx, ann, "app.who"))
	require.NoError(t, end(false))
	require.Equal(t, "ann", as(tx, ann, "app.who"), "a rollback took them back")
	require.Equal(t, "bob", as(tx, bob, "app.who"))
	end, err = tx.Savepoint(ctx, false)
	require.NoError(t, err)
	_, err = tx.ExecContext(ann, "SELECT 1/0")
	require.Error(t, err)
	require.NoError(t, tx.Recover(ctx))
	require.Equal(t, "bob", as(tx, bob, "app.who"))
	require.NoError(t, end(true))
	require.Empty(t, as(tx, ctx, "app.who"))
	require.Equal(t, "ann", as(tx, ann, "app.who"))
	require.NoError(t, tx.Commit(ctx))

	for range 4 { // one statement without a transaction, on the same connections
		one := begin(t, d, false)
		one.Single()
		require.Empty(t, as(one, ctx, "app.who"))
		require.NoError(t, one.Commit(ctx))
		two := begin(t, d, false)
		two.Single()
		require.Equal(t, "bob", as(two, bob, "app.who"))
		require.NoError(t, two.Commit(ctx))
	}
	_, err = begin(t, d, false).QueryContext(entsql.WithVar(ctx, "search_path", "public"), "SELECT 1")
	require.ErrorIs(t, err, errPath)
}

func TestVariablesOfTheBaseClient(t *testing.T) {
	d := use(t, opened(t, pgtest.Place(t)+"&pool_max_conns=2", things()), "default")
	drv := d.Driver()
	who := func(ctx context.Context) string {
		t.Helper()
		var rows entsql.Rows
		require.NoError(t, drv.Query(ctx, "SELECT coalesce(current_setting('app.who', true), '')", []any{}, &rows))
		value, err := entsql.ScanString(&rows)
		require.NoError(t, err)
		require.NoError(t, rows.Close())
		return value
	}
	ann := entsql.WithVar(ctx, "app.who", "ann")
	for range 3 {
		require.Equal(t, "ann", who(ann))
		require.Empty(t, who(ctx))
		require.NoError(t, drv.Exec(ann, "INSERT INTO things (name) VALUES (current_setting('app.who') || gen_random_uuid()::text::varchar(6))", []any{}, nil))
	}
	require.Equal(t, 3, number(t, d.DB(), "SELECT count(*) FROM things WHERE name LIKE 'ann%'"))
	require.Error(t, drv.Exec(ann, "SELECT 1/0", []any{}, nil))
	var rows entsql.Rows
	require.Error(t, drv.Query(ann, "SELECT nothing", []any{}, &rows))

	tx := begin(t, d, true)
	joined := tx.With(ctx)
	require.Equal(t, "ann", who(entsql.WithVar(joined, "app.who", "ann")))
	require.Empty(t, who(joined))
}

// pqError is what lib/pq gives.
type pqError struct{ Code, Message, Table, Constraint, Detail, Routine string }

func (e *pqError) Error() string    { return "pq: " + e.Message }
func (e *pqError) SQLState() string { return e.Code }

func TestErrorsOfOtherDriversAreRead(t *testing.T) {
	v := Violation(&pqError{Code: unique, Table: "things", Detail: "Key (name)=(x) already exists."})
	require.Equal(t, &database.Violation{Rule: database.Unique, Table: "things", Columns: []string{"name"}}, v)
	require.Equal(t, database.RowSecurity, Violation(&pqError{Code: noPrivilege, Message: "nein", Routine: "ExecWithCheckOptions"}).Rule)
	require.Nil(t, Violation(&pqError{Code: noPrivilege, Message: "permission denied for table things", Routine: "aclcheck_error"}))
	require.True(t, Again(&pqError{Code: serialization}))
	f, mine := Trouble("default", &pqError{Code: diskFull, Message: `could not extend file "base/5/16384": No space left on device`})
	require.True(t, mine)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(f))
	require.NotContains(t, fault.From(f).Message+fault.From(f).Hint, "base/5")
}
