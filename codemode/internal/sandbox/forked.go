package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/koan-go/koan/codemode/worker"
)

// forked is the process of one script. Its worker forks it before it has the script: a process waits for each next
// one.
type forked struct {
	pid     int
	meter   *meter
	cpuBase time.Duration // that it used before it had the script
}

// offspring are the processes that a worker has forked: none where it runs scripts itself.
type offspring struct {
	next *forked // waits for the next script; nil while that runs
	ran  int     // the process ID of the last script's
}

// errNoScript means that no process of a worker waits for the next script, or more than one.
var errNoScript = errors.New("sandbox: the worker runs the script in no process of its own")

// forkedEnd is how long the process of a script may take to end after its result, and the next one to be there.
const forkedEnd = 200 * time.Millisecond

// awaitNext waits until the process of the last script has ended, and the one of the next waits for it: nothing of a
// script may be there when the next one begins. Only the worker can fork, since a script's filter refuses it.
func (p *process) awaitNext() error {
	if !p.forks() || p.next != nil {
		return nil
	}
	for end := time.Now().Add(forkedEnd); ; time.Sleep(200 * time.Microsecond) {
		found, err := scriptsOf(p.proc.Pid)
		if err != nil { // nobody could measure it
			return err
		}
		if len(found) == 1 && found[0] != p.ran {
			used, _ := worker.ProcessCPU(found[0])
			p.next = &forked{found[0], newMeter(found[0]), used}
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %d are there, %v is left", errNoScript, len(found), slices.Contains(found, p.ran))
		}
	}
}

// follow has the guard measure the process that waits for the script.
func (e *execution) follow() {
	if e.next != nil {
		e.script.Store(e.next)
		e.ran, e.next = e.next.pid, nil
	}
}

// usage returns the meter of the process that runs the script, its process ID, and the CPU time that it had used
// before.
func (e *execution) usage() (of *meter, pid int, cpuBase time.Duration) {
	if f := e.script.Load(); f != nil {
		return f.meter, f.pid, f.cpuBase
	}
	return e.meter, e.proc.Pid, e.cpuBase
}
