package ledger

import (
	"context"
	"database/sql"
	"errors"
)

// SecretTables make the table of secrets that belong to the data, where it is missing. It stands
// beside KeyTables.
func SecretTables() []string {
	return []string{`CREATE TABLE IF NOT EXISTS koan_secrets (
	name TEXT NOT NULL PRIMARY KEY,
	secret TEXT NOT NULL
)`}
}

// Secret returns the secret of a name: the one that is there, else proposed, which is kept. All who
// ask at the same time get the same. Where there is one, nothing is written.
func (k *Keys) Secret(ctx context.Context, name, proposed string) (secret string, err error) {
	find := k.statement("SELECT secret FROM koan_secrets WHERE name = ").Arg(name)
	err = k.db.QueryRowContext(ctx, string(find.Text()), find.Args()...).Scan(&secret)
	if !errors.Is(err, sql.ErrNoRows) {
		return secret, err
	}
	err = k.durably(ctx, func(tx *sql.Tx) error {
		b := k.statement("INSERT INTO koan_secrets (name, secret) VALUES (").Arg(name).Raw(", ").Arg(proposed).Raw(") ON CONFLICT DO NOTHING")
		if _, err := exec(ctx, tx, b); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, string(find.Text()), find.Args()...).Scan(&secret)
	})
	return secret, err
}
