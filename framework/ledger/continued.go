package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/koan-go/koan/framework/journal"
)

// correct puts right what stands of a run that has a receipt and whose record says that it has not
// committed: it was gone on with, with its plan or under its key, by a process that died before it
// could say so. It reports whether the run stands there.
func (j *Journal) correct(ctx context.Context, tx *sql.Tx, found *journal.Record) (there bool, err error) {
	q := j.statement("SELECT CAST(record AS text) FROM koan_journal WHERE id = ").Arg(found.Run)
	var record string
	err = tx.QueryRowContext(ctx, string(q.Text()), q.Args()...).Scan(&record)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var has map[string]any
	if err := decode(record, &has); err != nil {
		return false, err
	}
	if !found.Committed || has["committed"] != nil {
		return true, nil
	}
	for _, member := range []string{"message", "line"} {
		delete(has, member)
	}
	if has["approval"] != nil {
		has["approval"] = journal.Approved
	}
	has["outcome"], has["committed"], has["repaired"], has["result_bytes"] = found.Outcome, 1, 1, found.ResultBytes
	changed, err := json.Marshal(has)
	if err != nil {
		return false, err
	}
	_, err = exec(ctx, tx, j.statement("UPDATE koan_journal SET record = ").Arg(string(changed)).Raw(" WHERE id = ").Arg(found.Run))
	return true, err
}
