package wire

import (
	"context"
	"encoding/json"
)

// Executor runs scripts. It is safe for concurrent use. Package sandbox has the
// one for production: a fresh confined process per job.
type Executor interface {
	// Execute runs one job to its end. Whatever the script does ends up in
	// Result.Fault. err is for what is not the script's doing: host.Call ended the
	// attempt (run.Ends; its error comes back unchanged), ctx ended (its error), or
	// no worker could be had (a fault). The result is never nil: with err it has
	// the logs made so far. When Execute returns, nothing of the job runs any more.
	Execute(ctx context.Context, job *Job, host Host) (*Result, error)
	// Close ends all workers. Jobs under way end in cancelled.
	Close() error
}

// Host serves a job's calls. Its methods are called from one goroutine at a time
// for synchronous calls.
type Host interface {
	// Call makes one call to the catalog. id is the catalog ID as text. nowMs is the
	// script's clock after the call. When run.Ends(err) the executor stops the job.
	Call(ctx context.Context, id string, input json.RawMessage) (out json.RawMessage, nowMs int64, err error)
	// Progress is SDK.Out.progress.
	Progress(done, total float64, message string)
}
