package sandbox

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// leastNice is the worst nice(2) value.
const leastNice = 19

// yield gives this worker for good only the CPU time that nobody else wants: who does
// not yield has the core as soon as it wakes. With a worse nice value alone, which is
// what is left where the system knows nothing better, it would wait for milliseconds
// until the worker's turn is over.
func (p *process) yield() {
	pid := p.cmd.Process.Pid // its own process group, so that all of its threads count
	_ = unix.Setpriority(unix.PRIO_PGRP, pid, leastNice)
	idle := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: leastNice}
	p.eachThread(func(tid int) { _ = unix.SchedSetAttr(tid, idle, 0) })
}

// leaveCore keeps this worker off one of the cores, the same for all, if there are two.
func (p *process) leaveCore() {
	if _, fewer := cores(); fewer.Count() > 0 {
		p.eachThread(func(tid int) { _ = unix.SchedSetaffinity(tid, &fewer) })
	}
}

// leavingCore calls start on this thread, so that what it starts leaves a core as with
// leaveCore, from the beginning.
func leavingCore(start func()) {
	all, fewer := cores()
	if fewer.Count() > 0 && unix.SchedSetaffinity(0, &fewer) == nil {
		defer func() { _ = unix.SchedSetaffinity(0, &all) }() // it was allowed a moment ago
	}
	start()
}

// cores gives those that this process may use, and all of them but one.
func cores() (all, fewer unix.CPUSet) {
	if unix.SchedGetaffinity(os.Getpid(), &all) != nil {
		return all, fewer
	}
	fewer = all
	for c := 0; c < len(all)*64; c++ {
		if all.IsSet(c) {
			fewer.Clear(c)
			break
		}
	}
	return all, fewer
}

// eachThread calls do with every thread of the worker, also with those that begin
// meanwhile: what they inherit may come from one that do has not reached.
func (p *process) eachThread(do func(tid int)) {
	dir := "/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/task"
	for seen, before := map[int]bool{}, -1; before < len(seen); {
		before = len(seen)
		threads, _ := os.ReadDir(dir) // none, where the worker is gone
		for _, t := range threads {
			if tid, err := strconv.Atoi(t.Name()); err == nil && !seen[tid] {
				seen[tid] = true
				do(tid)
			}
		}
	}
}
