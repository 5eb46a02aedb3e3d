package sqlitedriver

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
)

// openFiles are the files that this process has connections to. They matter because of how POSIX
// locks work: a process that closes any descriptor of a file loses all its locks on it, those
// that SQLite took by other descriptors included. Other processes then take the file for one
// that nobody has open, and remove its log.
var openFiles struct {
	sync.Mutex
	files []*openFile
}

// openFile is a file, whatever its name is by now.
type openFile struct {
	info        os.FileInfo
	connections int
}

// Apart calls fn, which may open and close the file at path as any other, while this process has
// no connection to it, and keeps others from connecting meanwhile. If there is a connection,
// fn is not called, and ran is false.
func Apart(path string, fn func() error) (ran bool, err error) {
	openFiles.Lock()
	defer openFiles.Unlock()
	if info, err := os.Stat(path); err == nil && find(info) >= 0 {
		return false, nil
	}
	return true, fn()
}

// find returns the index of a file among those that are open, -1 if it is not. The caller has
// the lock.
func find(info os.FileInfo) int {
	return slices.IndexFunc(openFiles.files, func(h *openFile) bool { return os.SameFile(h.info, info) })
}

// countConnection counts a connection to the file that a name is of, until release.
func countConnection(name string) (release func()) {
	info, err := os.Stat(pathOf(name))
	if err != nil { // no file, such as ":memory:", or one that cannot be opened either
		return func() {}
	}
	openFiles.Lock()
	defer openFiles.Unlock()
	i := find(info)
	if i < 0 {
		i = len(openFiles.files)
		openFiles.files = append(openFiles.files, &openFile{info: info})
	}
	file := openFiles.files[i]
	file.connections++
	return func() {
		openFiles.Lock()
		defer openFiles.Unlock()
		if file.connections--; file.connections == 0 {
			openFiles.files = slices.DeleteFunc(openFiles.files, func(h *openFile) bool { return h == file })
		}
	}
}

// pathOf is the path in the name of a database.
func pathOf(name string) string {
	uri, isURI := strings.CutPrefix(name, "file:")
	if !isURI {
		return name
	}
	escaped, _, _ := strings.Cut(uri, "?")
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped
	}
	return path
}

// conn is what database/sql uses of a connection of both drivers.
type conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
}

// countedConn is a connection whose file counts as open until it is closed.
type countedConn struct {
	conn
	release func()
}

// Close implements driver.Conn.
func (c countedConn) Close() error {
	defer c.release()
	return c.conn.Close()
}

// ResetSession implements driver.SessionResetter, which one of the drivers does.
func (c countedConn) ResetSession(ctx context.Context) error {
	if r, ok := c.conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid implements driver.Validator, which one of the drivers does.
func (c countedConn) IsValid() bool {
	v, ok := c.conn.(driver.Validator)
	return !ok || v.IsValid()
}

// AutoCommit reports whether the connection has no transaction open, as far as the driver says.
func (c countedConn) AutoCommit() bool {
	a, ok := c.conn.(interface{ AutoCommit() bool })
	return ok && a.AutoCommit()
}

// Connect opens a connection. The name is a URI with the parameters of mattn/go-sqlite3, which
// both drivers read.
func Connect(name string) (driver.Conn, error) {
	release := countConnection(name)
	opened, err := connect(name)
	if err != nil {
		release()
		return nil, err
	}
	c, ok := opened.(conn)
	if !ok {
		_ = opened.Close()
		release()
		return nil, fmt.Errorf("sqlitedriver: a connection of %s is a %T, which lacks methods", Name, opened)
	}
	return countedConn{c, release}, nil
}
