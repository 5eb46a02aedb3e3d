package language

import (
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// Port is a way to the host. All methods are called by the goroutine that runs the script.
type Port interface {
	// Call calls an operation (a catalog ID) and waits for its end. It must not keep input after it returns.
	Call(operation string, input []byte) Reply
	// Start starts a call and returns at once. ref numbers such calls from 1. It must not keep input after it
	// returns.
	Start(ref uint32, operation string, input []byte)
	// Await waits for the end of one of the started calls. It returns each of them once. most
	// bounds the wait unless it is negative; ref is 0 if no call ended in that time.
	Await(most time.Duration) (ref uint32, r Reply)
	// Log adds an entry to the run's logs.
	Log(l wire.Log)
	Progress(p wire.Progress)
	// Emit passes on the JSON of a value.
	Emit(value []byte)
}

// Host is how a running script reaches the host. The time that its methods take does not count as the script's, and
// it drops logs beyond their limits.
type Host interface {
	Port
	// LogsFull reports whether all further entries are dropped, so that nobody need format them.
	LogsFull() bool
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
