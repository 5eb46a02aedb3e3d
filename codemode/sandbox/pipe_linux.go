package sandbox

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"github.com/koan-go/koan/codemode/worker"
)

// inbound reads from a worker. While its script runs it looks for the next call
// for a moment before it sleeps (worker.Spin).
type inbound struct {
	raw   syscall.RawConn
	spin  worker.Spin
	b     []byte
	n     uintptr
	errno syscall.Errno
}

func newInbound(f *os.File) (*inbound, error) {
	raw, err := f.SyscallConn()
	return &inbound{raw: raw}, err
}

// Read obeys the file's read deadline once it sleeps.
func (p *inbound) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	p.b = b
	err := p.raw.Read(p.wait)
	switch {
	case err != nil:
		return 0, err
	case p.errno != 0:
		return 0, p.errno
	case p.n == 0:
		return 0, io.EOF
	}
	return int(p.n), nil
}

// wait says false when the poller is to wait for the worker.
func (p *inbound) wait(fd uintptr) bool {
	return p.spin.Until(func() bool {
		for {
			p.n, _, p.errno = syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&p.b[0])), uintptr(len(p.b)))
			if p.errno != syscall.EINTR {
				return p.errno != syscall.EAGAIN
			}
		}
	})
}
