package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/worker"
)

// launcher is a process of the program that starts workers for this one, which is
// larger (worker.LauncherArgs). It is used by one goroutine.
type launcher struct {
	process *os.Process
	socket  int
}

// launcherTimeout bounds the start of one worker.
const launcherTimeout = 5 * time.Second

// newLauncher starts a launcher on the ground of its workers. It dies with the thread.
func newLauncher(program program, layers []string, root *os.File) (*launcher, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "launcher")
	defer theirs.Close()
	l := &launcher{socket: pair[0]}
	limit := unix.NsecToTimeval(launcherTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(l.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		_ = unix.Close(l.socket)
		return nil, err
	}
	l.process, err = os.StartProcess(program.exec, append([]string{program.exec}, worker.LauncherArgs(layers)...), &os.ProcAttr{
		Dir: "/", Env: worker.Environment(), Sys: worker.Attributes(nil),
		Files: []*os.File{theirs, theirs, theirs, root},
	})
	if err != nil {
		_ = unix.Close(l.socket)
		return nil, err
	}
	return l, nil
}

// start has a worker started, which is a child of this process. Its files are standard
// input, output and error.
func (l *launcher) start(files [3]*os.File) (*os.Process, error) {
	rights := unix.UnixRights(int(files[0].Fd()), int(files[1].Fd()), int(files[2].Fd()))
	if err := retry(func() error { return unix.Sendmsg(l.socket, []byte{1}, rights, nil, unix.MSG_NOSIGNAL) }); err != nil {
		return nil, err
	}
	return l.answer()
}

// answer waits for the worker that was asked for last, up to launcherTimeout.
func (l *launcher) answer() (*os.Process, error) {
	var text [256]byte
	n := 0
	err := retry(func() (err error) { n, err = unix.Read(l.socket, text[:]); return err })
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errLauncherEnded
	}
	pid, err := strconv.Atoi(string(text[:n]))
	if err != nil {
		return nil, fmt.Errorf("it said %q", text[:n])
	}
	return os.FindProcess(pid)
}

var errLauncherEnded = errors.New("it has ended")

// abandonedFor bounds how long a launcher is waited for that did not answer in time.
const abandonedFor = time.Minute

// abandon gives up a launcher that has failed, and returns at once. If it was only late, the
// worker that it was asked for starts all the same, as a child of this process: it is reaped
// when the answer comes, since nobody else knows of it.
func (l *launcher) abandon() {
	_ = unix.Shutdown(l.socket, unix.SHUT_WR) // it ends after its answer
	go func() {
		defer l.close()
		for until := time.Now().Add(abandonedFor); time.Now().Before(until); {
			p, err := l.answer()
			switch {
			case errors.Is(err, unix.EAGAIN):
				continue
			case err != nil:
				return
			}
			_ = p.Kill()
			_, _ = p.Wait()
		}
	}()
}

// retry repeats a system call that a signal interrupts.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// close ends the launcher. Its workers stay.
func (l *launcher) close() {
	_ = l.process.Kill()
	_, _ = l.process.Wait()
	_ = unix.Close(l.socket)
}
