package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/run/approve"
)

// PlanTables make the table of plans, where it is missing. It stands beside KeyTables.
// What decides about a plan has columns of its own; the rest is JSON.
func PlanTables(d sqltext.Dialect) []string {
	return append(slices.Clone(planTables),
		withColumn(d, "koan_plans", "replaced_by", "TEXT NOT NULL DEFAULT ''"),
		withoutColumn(d, "koan_plans", "about"), // of what a plan asked, while that could change
	)
}

var planTables = []string{
	`CREATE TABLE IF NOT EXISTS koan_plans (
	id TEXT NOT NULL PRIMARY KEY,
	subject TEXT NOT NULL,
	state TEXT NOT NULL,
	decided_by TEXT NOT NULL,
	replaced_by TEXT NOT NULL DEFAULT '',
	made_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	head TEXT NOT NULL,
	tape TEXT NOT NULL
)`,
	`CREATE INDEX IF NOT EXISTS koan_plans_expires ON koan_plans (expires_at)`,
	`CREATE INDEX IF NOT EXISTS koan_plans_subject ON koan_plans (subject, state)`,
}

// Plans are the plans that wait for a person, or did, in the database of Keys.
type Plans struct{ place }

// Plans returns the plans.
func (k *Keys) Plans() Plans { return Plans{k.place} }

// KeepPlan implements approve.Plans.
func (t Plans) KeepPlan(ctx context.Context, p *approve.Plan, life time.Duration) error {
	raw, err := head(p)
	if err != nil {
		return err
	}
	return t.durably(ctx, func(tx *sql.Tx) error {
		if _, err := exec(ctx, tx, t.statement("DELETE FROM koan_plans WHERE expires_at < "+t.clock())); err != nil {
			return err
		}
		if err := t.admitPlan(ctx, tx, p); err != nil {
			return err
		}
		_, err := exec(ctx, tx, t.statement("INSERT INTO koan_plans (id, subject, state, decided_by, made_at, expires_at, head, tape) VALUES (").
			Arg(p.ID).Raw(", ").Arg(p.Request.Principal.Subject).Raw(", ").Arg(string(approve.PlanWaiting)).Raw(", '', ").Arg(p.Created.UnixMilli()).
			Raw(", "+t.clock()+" + ").Arg(life.Milliseconds()).Raw(", ").Arg(string(raw)).Raw(", ").Arg(string(p.Tape)).Raw(")"))
		return err
	})
}

// admitPlan makes room for a plan: it counts those of the same subject, or takes the
// place of the one that it replaces, which is not applied again and needs no tape. That may
// be gone, since its time was over.
func (t Plans) admitPlan(ctx context.Context, tx *sql.Tx, p *approve.Plan) error {
	subject := p.Request.Principal.Subject
	if p.Replaces == "" {
		waiting, err := count(ctx, tx, t.statement("SELECT COUNT(*) FROM koan_plans WHERE subject = ").Arg(subject).Raw(" AND state = ").Arg(string(approve.PlanWaiting)))
		if err == nil && waiting >= approve.MaxWaiting {
			err = approve.ErrManyPlans
		}
		return err
	}
	n, err := exec(ctx, tx, t.statement("UPDATE koan_plans SET state = ").Arg(string(approve.PlanReplaced)).Raw(", tape = '', replaced_by = ").Arg(p.ID).
		Raw(" WHERE id = ").Arg(p.Replaces).Raw(" AND state = ").Arg(string(approve.PlanApproved)))
	if err != nil {
		return err
	}
	if n == 0 {
		there, err := count(ctx, tx, t.statement("SELECT COUNT(*) FROM koan_plans WHERE id = ").Arg(p.Replaces))
		if err == nil && there > 0 {
			err = approve.ErrPlanOver
		}
		return err
	}
	_, err = exec(ctx, tx, t.statement("UPDATE koan_plans SET replaced_by = ").Arg(p.ID).Raw(" WHERE subject = ").Arg(subject).
		Raw(" AND state = ").Arg(string(approve.PlanReplaced)).Raw(" AND replaced_by = ").Arg(p.Replaces))
	return err
}

func count(ctx context.Context, tx *sql.Tx, b *sqltext.Builder) (n int, err error) {
	err = tx.QueryRowContext(ctx, string(b.Text()), b.Args()...).Scan(&n)
	return n, err
}

// head is a plan as its column has it: without the tape.
func head(p *approve.Plan) ([]byte, error) {
	h := *p
	h.Tape = nil
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return raw, nil
}

const planColumns = "state, decided_by, replaced_by, expires_at, head"

// Plan implements approve.Plans.
func (t Plans) Plan(ctx context.Context, id string) (*approve.Plan, error) {
	b := t.statement("SELECT " + planColumns + ", tape FROM koan_plans WHERE id = ").Arg(id).Raw(" AND expires_at >= " + t.clock())
	found, err := t.plans(ctx, b, true)
	if err == nil && len(found) == 0 {
		err = approve.ErrNoPlan
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// WaitingPlans implements approve.Plans. How many plans are not to be listed is no limit.
func (t Plans) WaitingPlans(ctx context.Context, most int, list func(*approve.Plan) bool) (out []*approve.Plan, err error) {
	b := t.statement("SELECT " + planColumns + " FROM koan_plans WHERE state = ").Arg(string(approve.PlanWaiting)).
		Raw(" AND expires_at >= " + t.clock() + " ORDER BY made_at, id")
	err = t.eachPlan(ctx, b, false, func(p *approve.Plan) bool {
		if list(p) {
			out = append(out, p)
		}
		return len(out) < most
	})
	return out, err
}

func (t Plans) plans(ctx context.Context, b *sqltext.Builder, tapes bool) (out []*approve.Plan, err error) {
	err = t.eachPlan(ctx, b, tapes, func(p *approve.Plan) bool {
		out = append(out, p)
		return true
	})
	return out, err
}

// eachPlan reads plans until yield returns false.
func (t Plans) eachPlan(ctx context.Context, b *sqltext.Builder, tapes bool, yield func(*approve.Plan) bool) (err error) {
	rows, err := t.db.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var state, by, next, head, tape string
		var expires int64
		into := []any{&state, &by, &next, &expires, &head}
		if tapes {
			into = append(into, &tape)
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		p := &approve.Plan{}
		if err := json.Unmarshal([]byte(head), p); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if p.Run == "" { // of a version in which a run had one plan, with its id
			p.Run = p.ID
		}
		p.State, p.By, p.ReplacedBy, p.Expires, p.Tape = approve.PlanState(state), by, next, time.UnixMilli(expires).UTC(), json.RawMessage(tape)
		if !yield(p) {
			return nil
		}
	}
	return rows.Err()
}

// AppliedPlan is a plan that was applied, and the run that did it.
type AppliedPlan struct{ ID, Run string }

// AppliedPlans returns the plans that were applied and are still kept.
func (t Plans) AppliedPlans(ctx context.Context) (out []AppliedPlan, err error) {
	b := t.statement("SELECT " + planColumns + " FROM koan_plans WHERE state = ").Arg(string(approve.PlanApplied)).Raw(" AND expires_at >= " + t.clock())
	found, err := t.plans(ctx, b, false)
	for _, p := range found {
		out = append(out, AppliedPlan{p.ID, p.Run})
	}
	return out, err
}

// WidenPlan implements approve.Plans.
func (t Plans) WidenPlan(ctx context.Context, p *approve.Plan) (ok bool, err error) {
	raw, err := head(p)
	if err != nil {
		return false, err
	}
	return t.change(ctx, t.statement("UPDATE koan_plans SET head = ").Arg(string(raw)).
		Raw(" WHERE id = ").Arg(p.ID).Raw(" AND state = ").Arg(string(approve.PlanApproved)))
}

// MovePlan implements approve.Plans.
func (t Plans) MovePlan(ctx context.Context, id string, from, to approve.PlanState, by string) (ok bool, err error) {
	return t.change(ctx, t.statement("UPDATE koan_plans SET state = ").Arg(string(to)).Raw(", decided_by = ").Arg(by).
		Raw(" WHERE id = ").Arg(id).Raw(" AND state = ").Arg(string(from)))
}
