package sandbox

// Load is how much a sandbox has to do.
type Load struct {
	Running int // jobs
	Waiting int // jobs that have no place yet
	Idle    int // workers that are ready
	Workers int // processes
}

// Load counts.
func (s *Sandbox) Load() Load {
	var l Load
	s.queue.mu.Lock()
	l.Running, l.Waiting = s.queue.running, len(s.queue.waiting)
	s.queue.mu.Unlock()
	s.pool.mu.Lock()
	l.Idle, l.Workers = len(s.pool.idle), len(s.pool.all)
	s.pool.mu.Unlock()
	return l
}
