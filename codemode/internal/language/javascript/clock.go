package javascript

import (
	"container/heap"
	"time"

	"github.com/dop251/goja"
)

// clock is the script's time. It starts at the time in the job and advances with calls and
// timers, and by a microsecond per reading, so that a loop that polls it ends. It never goes
// back, and is the same in every attempt.
type clock struct{ start, now int64 } // Unix microseconds

func newClock(nowMs int64) *clock { return &clock{nowMs * 1000, nowMs * 1000} }

func (c *clock) read() time.Time {
	c.now++
	return time.UnixMicro(c.now)
}

func (c *clock) advance(us int64) { c.now = max(c.now, us) }

func (c *clock) sinceStartMs() int64 { return (c.now - c.start) / 1000 }

// timer is a pending setTimeout.
type timer struct {
	id, due int64
	run     func() error
	origin  []goja.StackFrame // the stack that set it
}

// timers is a heap of timers by due time, then by age.
type timers struct {
	queue []*timer
	live  map[int64]bool // ids not yet fired or cleared
	last  int64
}

func (t *timers) Len() int { return len(t.queue) }
func (t *timers) Less(i, j int) bool {
	a, b := t.queue[i], t.queue[j]
	return a.due < b.due || a.due == b.due && a.id < b.id
}
func (t *timers) Swap(i, j int) { t.queue[i], t.queue[j] = t.queue[j], t.queue[i] }
func (t *timers) Push(x any)    { t.queue = append(t.queue, x.(*timer)) }
func (t *timers) Pop() any {
	n := len(t.queue) - 1
	x := t.queue[n]
	t.queue[n] = nil
	t.queue = t.queue[:n]
	return x
}

// maxDelayMs is the longest delay of setTimeout in browsers and Node.
const maxDelayMs = 1<<31 - 1

// setTimeout implements setTimeout(fn, delayMs, ...args).
func (s *session) setTimeout(call goja.FunctionCall) goja.Value {
	fn, ok := goja.AssertFunction(call.Argument(0))
	if !ok {
		panic(s.vm.NewTypeError("setTimeout needs a function; code in a string is not run"))
	}
	delay := call.Argument(1).ToInteger()
	if delay < 0 || delay > maxDelayMs {
		delay = 0
	}
	var args []goja.Value
	if len(call.Arguments) > 2 {
		args = append(args, call.Arguments[2:]...)
	}
	s.timers.last++
	id := s.timers.last
	s.timers.live[id] = true
	heap.Push(&s.timers, &timer{id: id, due: s.clock.now + delay*1000, origin: s.here(), run: func() error {
		_, err := fn(goja.Undefined(), args...)
		return err
	}})
	return s.vm.ToValue(id)
}

func (s *session) clearTimeout(call goja.FunctionCall) goja.Value {
	if id, ok := call.Argument(0).Export().(int64); ok {
		delete(s.timers.live, id)
	}
	return goja.Undefined()
}

// next returns the timer that is due first, nil if there is none.
func (t *timers) next() *timer {
	for t.Len() > 0 {
		if first := t.queue[0]; t.live[first.id] {
			return first
		}
		heap.Pop(t)
	}
	return nil
}

// fire runs the next timer; ok is false when there is none.
func (s *session) fire() (ok bool, err error) {
	if t := s.timers.next(); t != nil {
		heap.Pop(&s.timers)
		delete(s.timers.live, t.id)
		s.clock.advance(t.due)
		s.sites.origin = t.origin
		err = t.run()
		s.sites.origin = nil
		return true, err
	}
	return false, nil
}
