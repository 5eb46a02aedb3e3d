package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/run/approve"
)

// GrantTables make the table of approvals that last, where it is missing. It stands beside
// KeyTables.
func GrantTables() []string {
	return []string{`CREATE TABLE IF NOT EXISTS koan_grants (
	subject TEXT NOT NULL,
	operation TEXT NOT NULL,
	source TEXT NOT NULL,
	declaration TEXT NOT NULL,
	given_by TEXT NOT NULL,
	given_at BIGINT NOT NULL,
	void INTEGER NOT NULL,
	PRIMARY KEY (subject, operation, source)
)`}
}

// Grants are the approvals that last, in the database of Keys.
type Grants struct{ place }

// Grants returns the approvals that last.
func (k *Keys) Grants() Grants { return Grants{k.place} }

// KeepGrants implements approve.Grants.
func (t Grants) KeepGrants(ctx context.Context, given []approve.Grant) error {
	return t.durably(ctx, func(tx *sql.Tx) error {
		for _, g := range given {
			declaration, err := json.Marshal(g.Declaration)
			if err != nil {
				return err
			}
			b := t.statement("INSERT INTO koan_grants (subject, operation, source, declaration, given_by, given_at, void) VALUES (").
				Arg(g.Subject).Raw(", ").Arg(g.Operation).Raw(", ").Arg(g.Source).Raw(", ").Arg(string(declaration)).Raw(", ").Arg(g.By).Raw(", ").Arg(g.At.UnixMilli()).
				Raw(", 0) ON CONFLICT (subject, operation, source) DO UPDATE SET declaration = EXCLUDED.declaration, given_by = EXCLUDED.given_by, given_at = EXCLUDED.given_at, void = 0")
			if _, err := exec(ctx, tx, b); err != nil {
				return err
			}
		}
		return nil
	})
}

const grantColumns = "SELECT subject, operation, source, declaration, given_by, given_at, void FROM koan_grants"

// Grants implements approve.Grants.
func (t Grants) Grants(ctx context.Context, subject, operation string) ([]approve.Grant, error) {
	return t.grants(ctx, t.statement(grantColumns+" WHERE subject = ").Arg(subject).Raw(" AND operation = ").Arg(operation))
}

// AllGrants implements approve.Grants.
func (t Grants) AllGrants(ctx context.Context) ([]approve.Grant, error) {
	return t.grants(ctx, t.statement(grantColumns+" ORDER BY operation, subject, source"))
}

func (t Grants) grants(ctx context.Context, b *sqltext.Builder) (out []approve.Grant, err error) {
	err = t.each(ctx, b, func(rows *sql.Rows) error {
		var g approve.Grant
		var declaration string
		var at, void int64
		if err := rows.Scan(&g.Subject, &g.Operation, &g.Source, &declaration, &g.By, &at, &void); err != nil {
			return err
		}
		g.At, g.Void = time.UnixMilli(at).UTC(), void != 0
		out = append(out, g)
		return json.Unmarshal([]byte(declaration), &out[len(out)-1].Declaration)
	})
	return out, err
}

// VoidGrant implements approve.Grants.
func (t Grants) VoidGrant(ctx context.Context, g approve.Grant) error {
	_, err := t.change(ctx, t.statement("UPDATE koan_grants SET void = 1 WHERE subject = ").Arg(g.Subject).Raw(" AND operation = ").Arg(g.Operation).
		Raw(" AND source = ").Arg(g.Source).Raw(" AND given_at = ").Arg(g.At.UnixMilli()))
	return err
}

// DropGrants implements approve.Grants.
func (t Grants) DropGrants(ctx context.Context, subject, operation string) (n int, err error) {
	err = t.durably(ctx, func(tx *sql.Tx) error {
		dropped, err := exec(ctx, tx, t.statement("DELETE FROM koan_grants WHERE subject = ").Arg(subject).Raw(" AND operation = ").Arg(operation))
		n = int(dropped)
		return err
	})
	return n, err
}
