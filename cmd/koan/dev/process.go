package dev

import (
	"bufio"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// How long a process has to end by itself, and how long until it serves.
const (
	endWithin   = 10 * time.Second
	serveWithin = 2 * time.Minute
)

// process is one life of the program that serves.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	ended chan struct{}
	read  chan struct{} // closed when a front has read all of its output
	// silent says that there is no more of it; a front's mutex guards it.
	silent bool
}

func start(made build, errs io.Writer, more ...string) (*process, error) {
	p := &process{cmd: exec.Command(made.file, append(append([]string(nil), made.args...), more...)...), ended: make(chan struct{}), read: make(chan struct{})}
	p.cmd.Stderr = errs
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, w := io.Pipe() // which Wait does not close while lines are left
	p.cmd.Stdout, p.out = w, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		_ = w.Close()
		close(p.ended)
	}()
	return p, nil
}

// end has the process end as at the end of its input, and kills it where it does not. Whoever reads its output goes on
// until there is no more.
func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(endWithin):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}
