//go:build linux

// Package seccomp puts a filter of system calls on a process, for good.
//
// What belongs here: the instructions that such filters are made of, and how they are installed. Not here:
// which system calls a process needs, which those know who start it.
package seccomp

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (linux/seccomp.h); both architectures are little-endian.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// What a filter answers.
const (
	Allow = uint32(unix.SECCOMP_RET_ALLOW)
	Kill  = uint32(unix.SECCOMP_RET_KILL_PROCESS)
)

// Errno is the answer that a system call fails with an error.
func Errno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// Program is the instructions of a filter.
type Program []unix.SockFilter

// Begin returns the first instructions of a filter: a system call of another architecture kills the process,
// one of the x32 ABI fails with EPERM. The number of the system call is loaded behind them.
func Begin() Program {
	return Program{
		load(offArch), Jump(unix.BPF_JEQ, arch, 1, 0), Return(Kill),
		load(offNr), Jump(unix.BPF_JGE, x32Bit, 0, 1), Return(Errno(unix.EPERM)),
	}
}

// On appends a block for some system calls, which all others skip. A block for several loads nothing.
func (p Program) On(numbers []uint32, block ...unix.SockFilter) Program {
	for _, nr := range numbers {
		p = append(p, Jump(unix.BPF_JEQ, nr, 0, uint8(len(block))))
		p = append(p, block...)
	}
	return p
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// LoadArg loads the lower half of the n-th argument, counted from 0.
func LoadArg(n uint32) unix.SockFilter { return load(offArgs + 8*n) }

// LoadArgHigh loads its upper half.
func LoadArgHigh(n uint32) unix.SockFilter { return load(offArgs + 8*n + 4) }

// Return ends the filter with an answer.
func Return(answer uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer}
}

// Jump skips yes instructions if the test is true, else no.
func Jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

// Install puts a filter on all threads of this process, and with it on the processes that it starts. It sets
// no_new_privs, and neither can be taken back.
func Install(p Program) error {
	if arch == 0 {
		return errors.New("no filter is known for this architecture")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// TSYNC extends no_new_privs and the filter to all threads.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
