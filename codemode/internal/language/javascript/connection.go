package javascript

import (
	"errors"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// connection is a script's way to the host, and the script's time, which advances with it.
type connection struct {
	language.Host // nil before there is a job

	js         *engine
	positions  *positions
	clock      *clock
	stopReason *interruption // not nil: the script is to end, whatever it does
}

// errStopped stands for the reason in connection.stopReason.
var errStopped = errors.New("stopped")

// interruption is the value with which the engine is interrupted.
type interruption struct{ fault *fault.Fault } // nil if the host knows the reason

// end stops the script with an interrupt, which the script cannot catch. f is nil if the host
// knows the reason.
func (h *connection) end(f *fault.Fault) {
	if f != nil {
		f = h.positions.locate(f, h.positions.here())
	}
	h.stopReason = &interruption{f}
	h.js.vm.Interrupt(h.stopReason)
}

func (h *connection) stopped() bool { return h.stopReason != nil }

// log adds an entry to the run's logs.
func (h *connection) log(level, message string) {
	h.Log(wire.Log{Level: level, Message: message, TimeMs: h.clock.sinceStartMs()})
}
