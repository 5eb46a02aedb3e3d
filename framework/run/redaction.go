package run

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// Redactor is what redacts secrets in texts.
func (e *Engine) Redactor() *journal.Redactor { return e.opts.Redactor }

// Redact takes secrets out of a text that leaves the run, as text, and counts them.
func (r *Run) Redact(text string) string {
	text, n := r.engine.opts.Redactor.Text(text)
	r.redactions.Add(int64(n))
	return text
}

// Redactions is how many secrets have been taken out of what left the run.
func (r *Run) Redactions() int { return int(r.redactions.Load()) }

// redacted is a fault as it leaves the run.
func (r *Run) redacted(f *fault.Fault) *fault.Fault {
	clean, n := r.engine.opts.Redactor.Fault(f)
	r.redactions.Add(int64(n))
	return clean
}

// RedactBody takes secrets out of what the code operation that ctx belongs to says outside
// of a run: of a script that was refused, or checked.
func RedactBody(ctx context.Context, body json.RawMessage) json.RawMessage {
	if c := currentCall(ctx); c != nil {
		body, _ = c.engine.opts.Redactor.FailureJSON(body)
	}
	return body
}
