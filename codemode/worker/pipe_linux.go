package worker

import (
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipes gives the ends of the host's pipes, past the runtime's poller: the worker
// has nothing else to wait for.
func pipes() (*inbound, io.Writer) {
	_ = unix.SetNonblock(0, true) // to look without waiting
	_ = unix.SetNonblock(1, false)
	return &inbound{}, outbound(1)
}

// inbound reads from the host. While a script runs it looks for an answer for a
// moment before it sleeps: most calls are answered sooner than the system wakes a
// process that sleeps.
type inbound struct {
	fd   int // standard input
	spin Spin
}

func (p *inbound) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	var n uintptr
	var errno syscall.Errno
	look := func() bool {
		n, _, errno = unix.RawSyscall(unix.SYS_READ, uintptr(p.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		return errno != unix.EAGAIN
	}
	for {
		switch found := p.spin.Until(look); {
		case !found:
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, -1)
		case errno == unix.EINTR:
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		default:
			return int(n), nil
		}
	}
}

type outbound int

func (f outbound) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(int(f), b[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}
