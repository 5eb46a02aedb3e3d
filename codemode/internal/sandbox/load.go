package sandbox

// Load is how much a sandbox has to do.
type Load struct {
	Running int // jobs
	Waiting int // jobs that have no place yet
	Idle    int // workers that are ready: nobody's yet, or between two scripts of their owner
	Workers int // processes
}

// Load counts.
func (s *Sandbox) Load() Load {
	var l Load
	s.queue.mu.Lock()
	l.Running, l.Waiting = s.queue.running, s.queue.waiting
	s.queue.mu.Unlock()
	s.pool.mu.Lock()
	l.Idle, l.Workers = len(s.pool.spare)+len(s.pool.resting), len(s.pool.all)
	s.pool.mu.Unlock()
	return l
}
