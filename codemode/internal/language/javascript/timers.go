package javascript

import (
	"container/heap"

	"github.com/dop251/goja"
)

// timer is a pending setTimeout.
type timer struct {
	id, due int64
	run     func() error
	origin  []goja.StackFrame // the stack that set it
}

// timers are the pending ones: a heap by due time, then by age.
type timers struct {
	js        *engine
	host      *connection
	positions *positions

	queue []*timer
	live  map[int64]bool // ids not yet fired or cleared
	last  int64
}

func (ts *timers) Len() int { return len(ts.queue) }

func (ts *timers) Less(i, j int) bool {
	a, b := ts.queue[i], ts.queue[j]
	return a.due < b.due || a.due == b.due && a.id < b.id
}

func (ts *timers) Swap(i, j int) { ts.queue[i], ts.queue[j] = ts.queue[j], ts.queue[i] }

func (ts *timers) Push(x any) { ts.queue = append(ts.queue, x.(*timer)) }

func (ts *timers) Pop() any {
	n := len(ts.queue) - 1
	x := ts.queue[n]
	ts.queue[n] = nil
	ts.queue = ts.queue[:n]
	return x
}

// maxDelayMs is the longest delay of setTimeout in browsers and Node.
const maxDelayMs = 1<<31 - 1

// setTimeout implements setTimeout(fn, delayMs, ...args).
func (ts *timers) setTimeout(call goja.FunctionCall) goja.Value {
	fn, ok := goja.AssertFunction(call.Argument(0))
	if !ok {
		panic(ts.js.vm.NewTypeError("setTimeout needs a function; code in a string is not run"))
	}
	delay := call.Argument(1).ToInteger()
	if delay < 0 || delay > maxDelayMs {
		delay = 0
	}
	var args []goja.Value
	if len(call.Arguments) > 2 {
		args = append(args, call.Arguments[2:]...)
	}
	ts.last++
	id := ts.last
	ts.live[id] = true
	heap.Push(ts, &timer{id: id, due: ts.host.clock.now + delay*1000, origin: ts.positions.here(), run: func() error {
		_, err := fn(goja.Undefined(), args...)
		return err
	}})
	return ts.js.vm.ToValue(id)
}

func (ts *timers) clearTimeout(call goja.FunctionCall) goja.Value {
	if id, ok := call.Argument(0).Export().(int64); ok {
		delete(ts.live, id)
	}
	return goja.Undefined()
}

// next returns the timer that is due first, nil if there is none.
func (ts *timers) next() *timer {
	for ts.Len() > 0 {
		if first := ts.queue[0]; ts.live[first.id] {
			return first
		}
		heap.Pop(ts)
	}
	return nil
}

// fire runs the next timer; ok is false when there is none.
func (ts *timers) fire() (ok bool, err error) {
	if t := ts.next(); t != nil {
		heap.Pop(ts)
		delete(ts.live, t.id)
		ts.host.clock.advance(t.due)
		ts.positions.origin = t.origin
		err = t.run()
		ts.positions.origin = nil
		return true, err
	}
	return false, nil
}
