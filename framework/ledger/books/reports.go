package books

import (
	"context"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
)

// maxSuggested is how many ids of runs a completion has (MCP: at most 100).
const maxSuggested = 100

// reportDocument offers runs that have ended, one document each: callers see their own, and
// those who may read the journal the ones whose sets they may name.
func (j *Journal) reportDocument() *catalog.Document {
	return &catalog.Document{
		URI: catalog.RunReportURI, Name: "run", MIME: "application/json", Template: true,
		Description: "One of your runs, by its runId: how it ended, what it called and changed.",
		Read: func(ctx context.Context, v *catalog.View, id string) (out []byte, err error) {
			err = j.withReader(ctx, v.Knows, func(rows *ledger.Journal, r ledger.Reader) (err error) {
				out, err = rows.Report(ctx, id, r)
				return err
			})
			if err == nil && out == nil {
				return nil, fault.New(fault.NotFound, "the run does not exist, or is not yours")
			}
			return out, err
		},
		Complete: func(ctx context.Context, _ *catalog.View, typed string) (out []string) {
			err := j.withReader(ctx, nil, func(rows *ledger.Journal, r ledger.Reader) (err error) {
				out, err = rows.Recent(ctx, typed, r, maxSuggested)
				return err
			})
			if err != nil {
				j.log.WarnContext(ctx, "the journal cannot be read", "error", err)
			}
			return out
		},
	}
}

var _ journal.Reader = (*Journal)(nil)

// Runs implements journal.Reader.
func (j *Journal) Runs(ctx context.Context, q journal.Query) (out *journal.Page, err error) {
	out = &journal.Page{}
	err = j.withReader(ctx, q.Knows, func(rows *ledger.Journal, r ledger.Reader) (err error) {
		out, err = rows.Runs(ctx, q, r)
		return err
	})
	return out, err
}

// Kept implements journal.Reader.
func (j *Journal) Kept(ctx context.Context, runs []string) (map[string]bool, error) {
	j.Flush(ctx)
	rows, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	return rows.Kept(ctx, runs)
}

// withReader opens the journal for the caller of ctx, who sees what ended before. knows is as in
// ledger.Reader.
func (j *Journal) withReader(ctx context.Context, knows func(entity string) bool, do func(rows *ledger.Journal, r ledger.Reader) error) error {
	who := auth.From(ctx)
	if who.Subject == "" && !journal.ReadsOthers(who) {
		return nil // nobody has run anything
	}
	j.Flush(ctx)
	rows, err := j.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	return do(rows, ledger.Reader{Principal: who, Knows: knows})
}
