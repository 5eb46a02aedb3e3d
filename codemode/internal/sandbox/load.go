package sandbox

// Load counts a sandbox's jobs and workers.
type Load struct {
	Running   int // jobs
	Computing int // of those, the ones that have a place: they do not wait for anything outside
	Waiting   int // jobs that wait for their turn
	Idle      int // workers that are ready: unassigned, or idle between two scripts of their owner
	Workers   int // processes
}

// Load returns the present counts.
func (s *Sandbox) Load() Load {
	var l Load
	s.queue.mu.Lock()
	l.Running, l.Computing, l.Waiting = s.queue.begun, s.queue.running, s.queue.waiting
	s.queue.mu.Unlock()
	s.pool.mu.Lock()
	l.Idle, l.Workers = len(s.pool.unassigned)+len(s.pool.idle), len(s.pool.all)
	s.pool.mu.Unlock()
	return l
}
