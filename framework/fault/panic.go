package fault

import (
	"fmt"
	"runtime/debug"
)

// Panic is the cause of the internal fault that a panic became. It is for logs: its text has the
// stack.
type Panic struct {
	Value any
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// OfPanic returns the internal fault for a value that recover returned. It is called by the function
// that recovers, so that the stack is that of the panic.
func OfPanic(value any) *Fault {
	return New(Internal, "").Because(&Panic{value, string(debug.Stack())})
}

// Recover is deferred around code that is not ours: it makes a panic of the function that defers it
// end in an internal fault instead.
//
//	func (s *Store) fill(ctx context.Context) (err error) {
//		defer fault.Recover(&err)
//		return s.app.Fill(ctx)
//	}
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = OfPanic(p)
	}
}

// Guard calls a function that is not ours and returns its error, or an internal fault if it panics.
func Guard(fn func() error) (err error) {
	defer Recover(&err)
	return fn()
}
