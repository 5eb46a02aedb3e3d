package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// folderPrefix begins the names of the folders of sockets.
const folderPrefix = "koan-plugin-"

// socketRoots are the folders in which folders of sockets may lie: the temporary one, and a short one for systems
// whose temporary folder has a longer path than a socket can have, as on macOS.
func socketRoots() []string { return slices.Compact([]string{os.TempDir(), "/tmp"}) }

// makeFolder makes the folder of a process's socket.
func makeFolder() (folder string, err error) {
	const (
		most  = 103 // bytes of a socket's path, on any system
		names = len("/plugin-dir4294967295/plugin4294967295")
	)
	for _, root := range socketRoots() {
		if folder, err = os.MkdirTemp(root, folderName()); err != nil || len(folder)+names <= most {
			return folder, err
		}
		err = errors.Join(fmt.Errorf("the path of %s is too long for a socket: set TMPDIR to a shorter one", folder), os.Remove(folder))
	}
	return "", err
}

// maxShared is how many bytes a confined plugin may write to the folder of its socket, which is the machine's disk.
const maxShared = 1 << 20

// emptyBytes is what a file without content counts, since a disk has room for so many.
const emptyBytes = 512

// bytesIn returns what the files in a folder take.
func bytesIn(folder string) (n int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone meanwhile
		}
		n += emptyBytes
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
