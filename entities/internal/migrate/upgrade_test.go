package migrate

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"entgo.io/ent/dialect"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// upgrading returns a schema whose table has another column than the earlier one, and an
// upgrade that carries the rows over; after fails it with an error.
func upgrading(after error) *Schema {
	s := table(2, &entschema.Column{Name: "title", Type: field.TypeString})
	s.Upgrades = []Upgrade{{
		Before: func(ctx context.Context, _ string, drv dialect.Driver) error {
			return drv.Exec(ctx, "ALTER TABLE things RENAME TO old_things", []any{}, nil)
		},
		After: func(ctx context.Context, set string, drv dialect.Driver) error {
			if after != nil {
				return after
			}
			if err := drv.Exec(ctx, "INSERT INTO things (id, title) SELECT id, name || ' of ' || ? FROM old_things", []any{set}, nil); err != nil {
				return err
			}
			return drv.Exec(ctx, "DROP TABLE old_things", []any{}, nil)
		},
	}}
	return s
}

func TestUpgradeCarriesDataOver(t *testing.T) {
	earlier := table(1, &entschema.Column{Name: "name", Type: field.TypeString})
	drv := made(t, earlier)
	exec(t, drv, "INSERT INTO things (id, name) VALUES ('1', 'Ann')")

	plain := table(2, &entschema.Column{Name: "title", Type: field.TypeString})
	require.NotEqual(t, Behind, judged(t, in(plain), drv).State, "without an upgrade the column would be lost")

	w := in(upgrading(nil))
	require.Equal(t, Behind, judged(t, w, drv).State)
	v, err := w.Open(ctx, drv, "branch")
	require.NoError(t, err)
	require.Equal(t, Current, v.State)
	titles, err := column[string](ctx, drv, "SELECT title FROM things")
	require.NoError(t, err)
	require.Equal(t, []string{"Ann of branch"}, titles)
	require.Equal(t, Current, judged(t, w, drv).State)
	v, err = w.Open(ctx, drv, "branch")
	require.NoError(t, err, "it happens once")
	require.Equal(t, Current, v.State)
}

func TestUpgradeThatFails(t *testing.T) {
	drv := made(t, table(1, &entschema.Column{Name: "name", Type: field.TypeString}))
	broken := errors.New("no")
	_, err := in(upgrading(broken)).Open(ctx, drv, "default")
	require.ErrorIs(t, err, broken, "and the caller rolls back")
	for cause, retry := range map[error]fault.Retry{broken: fault.Never, context.DeadlineExceeded: fault.Safe, driver.ErrBadConn: fault.Safe} {
		err := AtOpening(in(upgrading(cause)))(ctx, "default", made(t, table(1, &entschema.Column{Name: "name", Type: field.TypeString})))
		require.ErrorIs(t, err, cause)
		require.Equal(t, retry, fault.From(err).Retry, cause)
		require.Contains(t, fault.From(err).Hint, "migrate apply")
	}
}

// A set that a newer build has made is not upgraded to an older schema.
func TestNewerSetIsNotUpgraded(t *testing.T) {
	s := upgrading(nil)
	drv := made(t, s)
	newer := table(3, &entschema.Column{Name: "title", Type: field.TypeString}, &entschema.Column{Name: "more", Type: field.TypeString, Nullable: true})
	_, err := in(newer).Open(ctx, drv, "default")
	require.NoError(t, err)
	v, err := in(s).Open(ctx, drv, "default")
	require.NoError(t, err)
	require.Equal(t, Ahead, v.State)
}
