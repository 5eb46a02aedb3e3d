package worker

import (
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// Port is how a running script reaches the host. All methods are called from the
// goroutine that runs the script.
type Port interface {
	// Call calls an operation (a catalog ID) and waits for its end. The port must not keep
	// input after Call returns.
	Call(operation string, input []byte) Reply
	// Start starts a call and returns at once. ref numbers such calls from 1. The port must
	// not keep input after Start returns.
	Start(ref uint32, operation string, input []byte)
	// Await waits for the end of one of the started calls. It returns each of them once. most
	// bounds the wait unless it is negative; ref is 0 if no call ended in that time.
	Await(most time.Duration) (ref uint32, r Reply)
	Log(wire.Log)
	Progress(wire.Progress)
	// Emit passes on the JSON of a value.
	Emit(value []byte)
}

// Reply is the outcome of a call.
type Reply struct {
	Out   []byte
	NowMs int64 // the script's clock after the call, in Unix milliseconds
	// Fault is thrown into the script; nil for a call that succeeded.
	Fault *fault.Fault
	// Ends means that the script must be stopped, without a chance to catch anything. Fault
	// may be nil then if the host knows the reason.
	Ends bool
}
