package worker

import (
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// Port is how a running script reaches the host. All methods are called from the
// goroutine that runs the script.
type Port interface {
	// Call makes one call of an operation (a catalog ID) and waits for its end.
	// input belongs to the port only until Call returns.
	Call(operation string, input []byte) Reply
	// Start begins a call and returns at once. ref numbers such calls from 1. input
	// belongs to the port only until Start returns.
	Start(ref uint32, operation string, input []byte)
	// Await waits for the end of one of the started calls and gives each once. most
	// bounds the wait, negative is no bound: ref is 0 when it passed first.
	Await(most time.Duration) (ref uint32, r Reply)
	Log(wire.Log)
	Progress(wire.Progress)
	// Emit passes on the JSON of a value.
	Emit(value []byte)
}

// Reply is how a call ended.
type Reply struct {
	Out   []byte
	NowMs int64 // the script's clock after the call, in Unix milliseconds
	// Fault is thrown into the script; nil for a call that succeeded.
	Fault *fault.Fault
	// Ends says that the script must not go on, whatever it catches. Fault may be
	// nil then: the host knows why.
	Ends bool
}
