package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/koan-go/koan/entities/sqltext"
	"github.com/koan-go/koan/framework/run"
)

// PlanTables make the table of plans, where it is missing. It stands beside KeyTables.
// What decides about a plan has columns of its own; the rest is JSON.
var PlanTables = []string{
	`CREATE TABLE IF NOT EXISTS koan_plans (
	id TEXT NOT NULL PRIMARY KEY,
	subject TEXT NOT NULL,
	state TEXT NOT NULL,
	about TEXT NOT NULL,
	decided_by TEXT NOT NULL,
	made_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	head TEXT NOT NULL,
	tape TEXT NOT NULL
)`,
	`CREATE INDEX IF NOT EXISTS koan_plans_expires ON koan_plans (expires_at)`,
	`CREATE INDEX IF NOT EXISTS koan_plans_subject ON koan_plans (subject, state)`,
}

// KeepPlan implements run.Plans. A plan that is replaced was made anew by its run,
// which somebody had agreed to, and waits again.
func (k *Keys) KeepPlan(ctx context.Context, p *run.Plan, life time.Duration) error {
	raw, err := head(p)
	if err != nil {
		return err
	}
	return k.in(ctx, func(tx *sql.Tx) error {
		if _, err := exec(ctx, tx, k.statement("DELETE FROM koan_plans WHERE expires_at < "+k.clock())); err != nil {
			return err
		}
		var waiting int
		b := k.statement("SELECT COUNT(*) FROM koan_plans WHERE subject = ").Arg(p.Request.Principal.Subject).Raw(" AND state = ").Arg(string(run.PlanWaiting))
		if err := tx.QueryRowContext(ctx, string(b.Text()), b.Args()...).Scan(&waiting); err != nil {
			return err
		}
		if waiting >= run.MaxWaiting {
			return run.ErrManyPlans
		}
		b = k.statement("INSERT INTO koan_plans (id, subject, state, about, decided_by, made_at, expires_at, head, tape) VALUES (").
			Arg(p.ID).Raw(", ").Arg(p.Request.Principal.Subject).Raw(", ").Arg(string(run.PlanWaiting)).Raw(", ").Arg(p.About()).Raw(", '', ").Arg(p.Created.UnixMilli()).
			Raw(", " + k.clock() + " + ").Arg(life.Milliseconds()).Raw(", ").Arg(string(raw)).Raw(", ").Arg(string(p.Tape)).
			Raw(") ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state, about = EXCLUDED.about, decided_by = '', expires_at = EXCLUDED.expires_at, head = EXCLUDED.head, tape = EXCLUDED.tape")
		_, err := exec(ctx, tx, b)
		return err
	})
}

// head is a plan as its column has it: without the tape.
func head(p *run.Plan) ([]byte, error) {
	h := *p
	h.Tape = nil
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return raw, nil
}

const planColumns = "state, decided_by, expires_at, head"

// Plan implements run.Plans.
func (k *Keys) Plan(ctx context.Context, id string) (*run.Plan, error) {
	b := k.statement("SELECT " + planColumns + ", tape FROM koan_plans WHERE id = ").Arg(id).Raw(" AND expires_at >= " + k.clock())
	found, err := k.plans(ctx, b, true)
	if err == nil && len(found) == 0 {
		err = run.ErrNoPlan
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// WaitingPlans implements run.Plans.
func (k *Keys) WaitingPlans(ctx context.Context, most int) ([]*run.Plan, error) {
	b := k.statement("SELECT " + planColumns + " FROM koan_plans WHERE state = ").Arg(string(run.PlanWaiting)).
		Raw(" AND expires_at >= " + k.clock() + " ORDER BY made_at, id LIMIT ").Arg(most)
	return k.plans(ctx, b, false)
}

func (k *Keys) plans(ctx context.Context, b *sqltext.Builder, tapes bool) (out []*run.Plan, err error) {
	rows, err := k.db.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var state, by, head, tape string
		var expires int64
		into := []any{&state, &by, &expires, &head}
		if tapes {
			into = append(into, &tape)
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		p := &run.Plan{}
		if err := json.Unmarshal([]byte(head), p); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		p.State, p.By, p.Expires, p.Tape = run.PlanState(state), by, time.UnixMilli(expires).UTC(), json.RawMessage(tape)
		out = append(out, p)
	}
	return out, rows.Err()
}

// WidenPlan implements run.Plans.
func (k *Keys) WidenPlan(ctx context.Context, p *run.Plan) (ok bool, err error) {
	raw, err := head(p)
	if err != nil {
		return false, err
	}
	err = k.in(ctx, func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, k.statement("UPDATE koan_plans SET head = ").Arg(string(raw)).
			Raw(" WHERE id = ").Arg(p.ID).Raw(" AND about = ").Arg(p.About()).Raw(" AND state = ").Arg(string(run.PlanApproved)))
		ok = n == 1
		return err
	})
	return ok, err
}

// MovePlan implements run.Plans.
func (k *Keys) MovePlan(ctx context.Context, p *run.Plan, from []run.PlanState, to run.PlanState, by string) (ok bool, err error) {
	err = k.in(ctx, func(tx *sql.Tx) error {
		b := k.statement("UPDATE koan_plans SET state = ").Arg(string(to)).Raw(", decided_by = ").Arg(by).
			Raw(" WHERE id = ").Arg(p.ID).Raw(" AND about = ").Arg(p.About()).Raw(" AND state IN (")
		for i, s := range from {
			if i > 0 {
				b.Raw(", ")
			}
			b.Arg(string(s))
		}
		n, err := exec(ctx, tx, b.Raw(")"))
		ok = n == 1
		return err
	})
	return ok, err
}
