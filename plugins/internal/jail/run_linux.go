package jail

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/mounts"
	"github.com/koan-go/koan/framework/seccomp"
)

// run builds the jail, runs the program in it, and returns its exit status. It is the first process of its
// namespace: what the program leaves behind becomes its child, and dies with it.
func (j *Jail) run() int {
	if err := j.build(); err != nil {
		fail("build the jail", err)
	}
	if err := j.serveProxy(); err != nil {
		fail("offer the proxy", err)
	}
	if err := seccomp.Install(filter()); err != nil {
		fail("filter system calls", err)
	}
	if j.Program == "" { // that it can be built was the question
		return 0
	}
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil { // what the app has left open
		fail("close files", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	pid, err := j.start()
	if err != nil {
		fail("start "+j.Program, err)
	}
	go func() {
		for s := range signals {
			_ = unix.Kill(pid, s.(syscall.Signal))
		}
	}()
	return await(pid)
}

// start starts the program on a thread that has dropped all privileges, and whose child it becomes.
func (j *Jail) start() (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err = mounts.DropPrivileges(); err != nil {
			return
		}
		pid, err = syscall.ForkExec(j.Program, append([]string{j.Program}, j.Args...), &syscall.ProcAttr{
			Dir: j.Dir, Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{},
		})
	}()
	<-done
	return pid, err
}

// await waits for the end of the program, and reaps what else ends meanwhile.
func await(pid int) int {
	for {
		var status unix.WaitStatus
		ended, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return exitBroken
		case ended != pid:
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// serveProxy passes connections to the proxy's address on to its socket outside.
func (j *Jail) serveProxy() error {
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if j.Proxy == "" {
		return nil
	}
	l, err := net.Listen("tcp", proxyAddress)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go j.relay(conn.(*net.TCPConn))
		}
	}()
	return nil
}

// relay copies both ways until both sides have ended.
func (j *Jail) relay(inner *net.TCPConn) {
	defer inner.Close()
	dialed, err := net.Dial("unix", j.Proxy)
	if err != nil {
		return
	}
	outer := dialed.(*net.UnixConn)
	defer outer.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(outer, inner)
		_ = outer.CloseWrite()
	}()
	_, _ = io.Copy(inner, outer)
	_ = inner.CloseWrite()
	<-done
}

// raiseLoopback makes 127.0.0.1 work in a new network namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
