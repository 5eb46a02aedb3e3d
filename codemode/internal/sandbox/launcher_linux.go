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

// launcher is a small process that starts workers for the host (worker.LauncherArgs says
// why). It must be used from one goroutine.
type launcher struct {
	process *os.Process
	socket  int
}

// launcherTimeout bounds the start of one worker.
const launcherTimeout = 5 * time.Second

// newLauncher starts a launcher whose workers start in root. It dies with the calling
// thread.
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

// start starts a worker as a child of this process. files become its standard input,
// output and error.
func (l *launcher) start(files [3]*os.File) (*os.Process, error) {
	rights := unix.UnixRights(int(files[0].Fd()), int(files[1].Fd()), int(files[2].Fd()))
	if err := retry(func() error { return unix.Sendmsg(l.socket, []byte{1}, rights, nil, unix.MSG_NOSIGNAL) }); err != nil {
		return nil, err
	}
	return l.readAnswer()
}

// readAnswer returns the process that was requested last. It waits up to launcherTimeout.
func (l *launcher) readAnswer() (*os.Process, error) {
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
		return nil, fmt.Errorf("the launcher answered %q", text[:n])
	}
	return os.FindProcess(pid)
}

var errLauncherEnded = errors.New("the launcher has exited")

// abandonTimeout bounds how long abandon waits for late answers.
const abandonTimeout = time.Minute

// abandon stops using a launcher that has failed, and returns at once. If the launcher was only
// late, the requested worker still starts as a child of this process. Nothing else knows of
// that worker, so it is killed and reaped in the background when the answer arrives.
func (l *launcher) abandon() {
	_ = unix.Shutdown(l.socket, unix.SHUT_WR) // the launcher exits after its answer
	go func() {
		defer l.close()
		for until := time.Now().Add(abandonTimeout); time.Now().Before(until); {
			p, err := l.readAnswer()
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

// retry repeats a system call while a signal interrupts it.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// close kills the launcher. Its workers go on.
func (l *launcher) close() {
	_ = l.process.Kill()
	_, _ = l.process.Wait()
	_ = unix.Close(l.socket)
}
