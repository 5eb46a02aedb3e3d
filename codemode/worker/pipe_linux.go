package worker

import (
	"io"

	"golang.org/x/sys/unix"
)

// pipes returns the worker's ends of the host's pipes. They bypass the runtime's poller, since
// the worker waits for nothing else.
func pipes() (io.Reader, io.Writer) {
	_ = unix.SetNonblock(0, false)
	_ = unix.SetNonblock(1, false)
	return pipe(0), pipe(1)
}

// pipe is a descriptor in blocking mode.
type pipe int

func (p pipe) Read(b []byte) (int, error) {
	for len(b) > 0 {
		n, err := unix.Read(int(p), b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
	return 0, nil
}

func (p pipe) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(int(p), b[done:])
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
