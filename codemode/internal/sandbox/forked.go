package sandbox

import (
	"errors"
	"time"
)

// forked is the process of one script, which a worker has forked for it.
type forked struct {
	pid   int
	meter *meter
}

// errNoScript means that a worker accepted a script, and no process of it runs it.
var errNoScript = errors.New("sandbox: the worker runs the script in no process of its own")

// follow finds the process that the worker has forked for the script, whose use the guard then measures.
func (e *execution) follow() error {
	if !e.forks() {
		return nil
	}
	found, err := scriptsOf(e.proc.Pid)
	if err != nil { // nobody would measure it
		return err
	}
	if len(found) == 0 { // a short script is over already, and has used what its worker has
		return nil
	}
	if len(found) > 1 {
		return errNoScript
	}
	e.script.Store(&forked{found[0], newMeter(found[0])})
	return nil
}

// usage returns the meter of the process that runs the script, and its process id.
func (e *execution) usage() (*meter, int) {
	if f := e.script.Load(); f != nil {
		return f.meter, f.pid
	}
	return e.meter, e.proc.Pid
}

// forkedEnd is how long a script's process may take to end after its result.
const forkedEnd = 200 * time.Millisecond

// awaitForked waits until the process of the last script has ended, and reports whether it has: nothing of a script
// may be there when the next one begins.
func (p *process) awaitForked() bool {
	if !p.forks() {
		return true
	}
	for end := time.Now().Add(forkedEnd); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		left, err := scriptsOf(p.proc.Pid)
		if err != nil || len(left) == 0 {
			return err == nil
		}
	}
	return false
}
