// Package journal is what ran: the record of a run and the sink it goes to.
//
// What belongs here: the shape of records. What must never: where they are kept
// (entities/ledger for durable ones), and any decision that depends on them; the
// truth of a commit is its receipt.
package journal

import (
	"context"
	"log/slog"
	"time"
)

// Record is one run as the journal keeps it.
type Record struct {
	Run            string
	Trace          string
	Started        time.Time
	Duration       time.Duration
	Surface        string // "mcp", "run", "app"
	Subject        string
	Operation      string // catalog ID of what was called
	CodeDigest     string // "sha256:…" of a script, "" for others
	Set            string
	Attempts       int
	Calls          int
	Outcome        string // "ok" or a fault's code
	Committed      bool
	DryRun         bool
	Created        int
	Updated        int
	Deleted        int
	CatalogVersion string
	CorrelationID  string
}

// Sink takes records. Append must not block a run for long, and must not fail
// it.
type Sink interface {
	Append(ctx context.Context, r Record)
}

// Log is a sink that writes one structured debug line per run.
type Log struct{ Logger *slog.Logger }

var _ Sink = Log{}

// Append writes the record.
func (l Log) Append(ctx context.Context, r Record) {
	l.Logger.DebugContext(ctx, "run", "run", r.Run, "surface", r.Surface, "subject", r.Subject, "operation", r.Operation,
		"attempts", r.Attempts, "calls", r.Calls, "outcome", r.Outcome, "committed", r.Committed, "dryRun", r.DryRun,
		"created", r.Created, "updated", r.Updated, "deleted", r.Deleted, "ms", r.Duration.Milliseconds())
}
