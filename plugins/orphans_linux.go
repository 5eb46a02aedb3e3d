package plugins

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// owner names this process among all that were ever started on the machine: by its id, when it
// started, and the namespace of its id.
var owner = sync.OnceValue(func() string {
	pid := os.Getpid()
	short := func(n uint64) string { return strconv.FormatUint(n, 36) }
	return short(uint64(pid)) + "." + short(startOf(pid)) + "." + short(namespaceOf("self"))
})

// isDead reports whether a name is that of a process of this machine that has ended. Processes of
// other namespaces, whose ids mean others here, are not.
func isDead(name string) bool {
	parts := strings.Split(name, ".")
	if len(parts) != 3 {
		return false
	}
	var n [3]uint64
	for i, part := range parts {
		var err error
		if n[i], err = strconv.ParseUint(part, 36, 64); err != nil {
			return false
		}
	}
	return n[2] != 0 && n[2] == namespaceOf("self") && startOf(int(n[0])) != n[1]
}

// startOf returns when a process started, in ticks of the system's clock; 0 if there is none.
func startOf(pid int) uint64 {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	const start = 19 // behind the name
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) <= start {
		return 0
	}
	ticks, _ := strconv.ParseUint(string(fields[start]), 10, 64) // the kernel's own
	return ticks
}

// namespaceOf returns the number of the namespace of a process's id, 0 if it is not known.
func namespaceOf(pid string) uint64 {
	var s unix.Stat_t
	if unix.Stat(filepath.Join("/proc", pid, "ns/pid"), &s) != nil {
		return 0
	}
	return s.Ino
}

// sweepOrphans kills the processes of plugins whose app was killed, and removes its folders of
// sockets: the kernel ends the plugin itself, not what that has started.
func sweepOrphans() {
	left := func(environ []byte) bool {
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			if mark, ok := bytes.CutPrefix(v, []byte(markKey+"=")); ok {
				name, _, ok := strings.Cut(string(mark), "-")
				return ok && isDead(name)
			}
		}
		return false
	}
	killEach(func(pid string, environ []byte) bool { return left(environ) && namespaceOf(pid) == namespaceOf("self") })
	var folders []string
	for _, root := range socketRoots() {
		found, _ := filepath.Glob(filepath.Join(root, folderPrefix+"*")) // the pattern is ours
		folders = append(folders, found...)
	}
	for _, folder := range folders {
		name, _, ok := strings.Cut(strings.TrimPrefix(filepath.Base(folder), folderPrefix), "-")
		if ok && isDead(name) {
			_ = os.RemoveAll(folder)
		}
	}
}

// folderName is the pattern of the folder of a process's socket.
func folderName() string { return fmt.Sprintf("%s%s-*", folderPrefix, owner()) }
