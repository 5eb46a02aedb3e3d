package wire

import (
	"context"
	"encoding/json"
	"time"
)

// Executor runs scripts. It is safe for concurrent use. Package sandbox has the
// one for production: confined processes, each of one caller.
type Executor interface {
	// Execute runs one job to its end. Whatever the script does ends up in
	// Result.Fault. err is for what is not the script's doing: host.Call ended the
	// attempt (run.Ends; its error comes back unchanged), ctx ended (its error), or
	// no worker was available (a fault). The result is never nil: with err it has
	// the logs made so far. When Execute returns, nothing of the job reaches the host
	// or another job any more.
	Execute(ctx context.Context, job *Job, host Host) (*Result, error)
	// Close ends all workers. Jobs under way end in cancelled.
	Close() error
}

// Host serves a job's calls. Its methods are called by one goroutine at a time;
// the calls that Start begins run beside it.
type Host interface {
	// Call makes one call to the catalog. id is the catalog ID as text. nowMs is the
	// script's clock after the call. When run.Ends(err) the executor stops the job.
	Call(ctx context.Context, id string, input json.RawMessage) (out json.RawMessage, nowMs int64, err error)
	// Start begins a call and returns at once; Next gives its end. ref numbers the
	// started calls of a job from 1. id is a catalog ID or one of the Discovery ids.
	// ctx must last as long as the job.
	Start(ctx context.Context, ref uint32, id string, input json.RawMessage)
	// Next waits for the end of one of the started calls, and gives each of them
	// once. most bounds the wait, negative is no bound: ref is 0 when it passed
	// first. An err with the ref 0 ends the job.
	Next(ctx context.Context, most time.Duration) (ref uint32, out json.RawMessage, nowMs int64, err error)
	// Progress is SDK.Out.progress.
	Progress(done, total float64, message string)
	// Emit is SDK.Out.emit: the value's JSON, and its place among those of the attempt, from
	// 0.
	Emit(index int, value json.RawMessage)
	// Log is a message that the script's logs keep, as it is said.
	Log(l Log)
}
