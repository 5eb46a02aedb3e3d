package ledger

import (
	"context"
	"database/sql"
	"time"
)

// SignInTables make the table of what browsers have signed in with, where it is missing. It stands beside
// KeyTables.
func SignInTables() []string {
	return []string{`CREATE TABLE IF NOT EXISTS koan_sign_ins (
	id TEXT NOT NULL PRIMARY KEY,
	holder TEXT NOT NULL,
	content TEXT NOT NULL,
	used_at BIGINT NOT NULL
)`}
}

// SignIns are the sessions of browsers, in the database of Keys. An id is the digest of a secret that only the
// browser has, and a content means nothing without that secret.
type SignIns struct{ place }

// SignIns returns the sessions of browsers.
func (k *Keys) SignIns() SignIns { return SignIns{k.place} }

// Keep keeps a session of a holder. It forgets all that were last used before since, and of the holder's those unused for
// longest where there are more than most.
func (s SignIns) Keep(ctx context.Context, id, holder, content string, at, since time.Time, most int) error {
	return s.durably(ctx, func(tx *sql.Tx) error {
		insert := s.statement("INSERT INTO koan_sign_ins (id, holder, content, used_at) VALUES (").Arg(id).Raw(", ").Arg(holder).Raw(", ").Arg(content).Raw(", ").Arg(at.UnixMilli()).Raw(")")
		if _, err := exec(ctx, tx, insert); err != nil {
			return err
		}
		forget := s.statement("DELETE FROM koan_sign_ins WHERE used_at < ").Arg(since.UnixMilli()).
			Raw(" OR holder = ").Arg(holder).Raw(" AND id NOT IN (SELECT id FROM koan_sign_ins WHERE holder = ").Arg(holder).Raw(" ORDER BY used_at DESC, id LIMIT ").Arg(most).Raw(")")
		_, err := exec(ctx, tx, forget)
		return err
	})
}

// Find returns the content of a session and when it was last used; ok is false if there is none, or it was last used
// before since.
func (s SignIns) Find(ctx context.Context, id string, since time.Time) (content string, used time.Time, ok bool, err error) {
	b := s.statement("SELECT content, used_at FROM koan_sign_ins WHERE id = ").Arg(id).Raw(" AND used_at >= ").Arg(since.UnixMilli())
	err = s.each(ctx, b, func(rows *sql.Rows) error {
		var at int64
		err := rows.Scan(&content, &at)
		used, ok = time.UnixMilli(at), err == nil
		return err
	})
	return content, used, ok, err
}

// Use notes that a session is used.
func (s SignIns) Use(ctx context.Context, id string, at time.Time) error {
	_, err := s.change(ctx, s.statement("UPDATE koan_sign_ins SET used_at = ").Arg(at.UnixMilli()).Raw(" WHERE id = ").Arg(id))
	return err
}

// End forgets a session.
func (s SignIns) End(ctx context.Context, id string) error {
	_, err := s.change(ctx, s.statement("DELETE FROM koan_sign_ins WHERE id = ").Arg(id))
	return err
}
