// Package regular reads files that others put where a program looks for them: configurations,
// tokens, secrets, the files of a folder.
//
// What belongs here: opening such a file without waiting for anybody, and reading it within
// bounds. Not here: what a file means.
package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Error is why a file is not read although it exists.
type Error struct {
	Path   string
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// Open opens a file for reading, behind symbolic links too. It never waits for another program: a
// named pipe, a socket, a device and a folder are an *Error. A pipe that whoever started this
// program has opened for it, /dev/stdin or the <(...) of a shell, is read as a file is.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := check(path, info); err != nil { // opening a device may have effects
		return nil, err
	}
	// What is there now may be something else.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = check(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// check returns an *Error for what is not read.
func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() || info.Mode()&fs.ModeNamedPipe != 0 && isDescriptor(path) {
		return nil
	}
	return &Error{path, "is " + Kind(info.Mode()) + ", not a regular file"}
}

// isDescriptor reports whether a path names a file that this process has open.
func isDescriptor(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// Kind names what a mode is of.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// ReadFile reads a file that Open opens and that has at most so many bytes; a longer one is an
// *Error. A pipe has its content once, but may be read again: a configuration is, at a reload too.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe == 0 {
		return read(f, path, most)
	}
	pipes.Lock()
	defer pipes.Unlock()
	for _, p := range pipes.drained {
		if os.SameFile(p.info, info) {
			return bytes.Clone(p.raw), nil
		}
	}
	raw, err := read(f, path, most)
	if err == nil {
		pipes.drained = append(pipes.drained, drained{info, bytes.Clone(raw)})
	}
	return raw, err
}

// drained is a pipe that has been read.
type drained struct {
	info fs.FileInfo
	raw  []byte
}

// pipes are those of this process, whoever reads them.
var pipes struct {
	sync.Mutex
	drained []drained
}

// read reads a file of at most so many bytes.
func read(f *os.File, path string, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		return nil, &Error{path, fmt.Sprintf("is larger than %d bytes", most)}
	}
	return raw, err
}

// ReadDir lists a folder by name. Where the path is of something else, it fails without waiting.
func ReadDir(path string) ([]fs.DirEntry, error) {
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Dir is os.DirFS of a folder whose regular files alone can be opened.
type Dir string

var (
	_ fs.FS        = Dir("")
	_ fs.ReadDirFS = Dir("")
)

// Open implements fs.FS.
func (d Dir) Open(name string) (fs.File, error) {
	path, err := d.path("open", name)
	if err != nil {
		return nil, err
	}
	f, err := Open(path)
	if err == nil {
		return f, nil
	}
	var notRegular *Error
	if errors.As(err, &notRegular) {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New(notRegular.Reason)}
	}
	return nil, err
}

// ReadDir implements fs.ReadDirFS.
func (d Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.path("readdir", name)
	if err != nil {
		return nil, err
	}
	return ReadDir(path)
}

func (d Dir) path(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(string(d), filepath.FromSlash(name)), nil
}
