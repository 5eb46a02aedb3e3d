package sqlite

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/koan-go/koan/framework/filelock"
)

// turns is how the writers of several processes take turns at one set. Each process
// sends the first of its queue. SQLite would serve whoever happens to ask in the
// moment in which the file is free, and a process with many writers asks in all of
// them.
//
// Who has the turn may write, and keeps it to the end of its transaction; who is the
// next in line waits for it, alone. A process that has just had the turn stands in
// line again, behind the one that came while it wrote.
//
// Both are locks on files of their own, which end with the process. The files are
// never taken away: whoever waits must wait for the same ones. turns is used by who
// holds the process's queue, and by nobody else.
type turns struct{ line, turn fileLock }

// newTurns takes the files' common path, "" for a set that nobody else knows.
func newTurns(path string) turns {
	if path == "" {
		return turns{}
	}
	return turns{fileLock{path: path + ".line"}, fileLock{path: path + ".turn"}}
}

// wait waits for the turn. It returns false when until is over.
func (t *turns) wait(ctx context.Context, until time.Time) (bool, error) {
	in, err := t.line.wait(ctx, until)
	if err != nil || !in {
		return false, err
	}
	defer t.line.leave()
	return t.turn.wait(ctx, until)
}

// try takes the turn where nobody has it, and nobody waits for it.
func (t *turns) try() (bool, error) {
	in, err := t.line.try()
	if err != nil || !in {
		return false, err
	}
	defer t.line.leave()
	return t.turn.try()
}

// end passes the turn to the next in line. It does nothing for a caller without one.
func (t *turns) end() { t.turn.leave() }

func (t *turns) close() error { return errors.Join(t.line.close(), t.turn.close()) }

// fileLock is a lock on a whole file. One without a path is nobody else's.
type fileLock struct {
	path string
	file *os.File // from its first use on
	held bool
}

// Between two looks at a lock.
const (
	firstLook = 50 * time.Microsecond
	lastLook  = 2 * time.Millisecond
)

func (l *fileLock) wait(ctx context.Context, until time.Time) (bool, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		if in, err := l.try(); in || err != nil {
			return in, err
		}
		if time.Now().After(until) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (l *fileLock) try() (in bool, err error) {
	if l.path == "" {
		return true, nil
	}
	if l.file == nil {
		if l.file, err = os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return false, err
		}
	}
	l.held, err = filelock.Try(l.file)
	return l.held, err
}

func (l *fileLock) leave() {
	if l.held {
		filelock.Release(l.file)
		l.held = false
	}
}

func (l *fileLock) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
