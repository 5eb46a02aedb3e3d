package wire

import (
	"context"
	"encoding/json"
	"time"
)

// Executor runs scripts. It is safe for concurrent use. The implementation for production,
// with confined processes that each belong to one caller, is in package sandbox.
type Executor interface {
	// Execute runs one job to its end. A failure of the script is in Result.Fault. err is for
	// other failures: host.Call ended the attempt (run.Ends; err is its error unchanged), ctx
	// ended (its error), or no worker was available (a fault). The result is never nil; with
	// err it has the logs up to then. After Execute returns, the job makes no more calls and
	// affects no other job.
	Execute(ctx context.Context, job *Job, host Host) (*Result, error)
	// Close ends all workers. Running jobs end in cancelled.
	Close() error
}

// Host serves a job's calls. Its methods are called by one goroutine at a time; calls made with
// Start run concurrently.
type Host interface {
	// Call calls an operation. id is its catalog ID as text. nowMs is the script's clock after
	// the call. If run.Ends(err), the executor stops the job.
	Call(ctx context.Context, id string, input json.RawMessage) (out json.RawMessage, nowMs int64, err error)
	// Start starts a call and returns at once; Next returns its outcome. ref numbers the
	// started calls of a job from 1. id is a catalog ID or one of the Discovery ids. ctx must
	// last as long as the job.
	Start(ctx context.Context, ref uint32, id string, input json.RawMessage)
	// Next waits for the end of one of the started calls. It returns each of them once. most
	// bounds the wait unless it is negative; ref is 0 if no call ended in that time. An err
	// with ref 0 ends the job.
	Next(ctx context.Context, most time.Duration) (ref uint32, out json.RawMessage, nowMs int64, err error)
	// Progress reports a call of SDK.Out.progress.
	Progress(done, total float64, message string)
	// Emit reports a call of SDK.Out.emit: the value as JSON, and its index among those of the
	// attempt.
	Emit(index int, value json.RawMessage)
	// Log passes on an entry of the script's logs as soon as it is made.
	Log(l Log)
}
