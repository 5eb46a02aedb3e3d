// Package s3test starts a server of S3 for a test: a real one, in a process of its own, which checks
// signatures and keeps its objects in a folder.
//
// What belongs here: the server, and what a test does to it. Not here: an import by anything
// but a test.
package s3test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// The credentials that servers take.
const (
	AccessKey = "koan"
	SecretKey = "a secret of the tests"
)

// Bucket is one that every server has.
const Bucket = "photos"

// Server is a server, which ends with its test.
type Server struct {
	Address string
	folder  string
	cmd     *exec.Cmd
	stdin   io.Closer
}

// Start starts a server with an empty bucket. The tests that call it stand in a folder beside this
// one's.
func Start(t testing.TB) *Server {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &Server{Address: free.Addr().String(), folder: t.TempDir()}
	require.NoError(t, free.Close())
	require.NoError(t, os.MkdirAll(filepath.Join(s.folder, "data", Bucket), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(s.folder, "meta"), 0o700))
	s.Run(t)
	t.Cleanup(s.Kill)
	return s
}

// startTime is how long a server may take to start, compiling it included.
const startTime = 5 * time.Minute

// Run starts a server that was killed, with what it had kept.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command("go", "run", ".", s.folder, s.Address, AccessKey, SecretKey)
	s.cmd.Dir = filepath.Join("..", "s3test", "server") // a module of its own: the app's does not know its dependencies
	var said strings.Builder
	s.cmd.Stdout, s.cmd.Stderr = &said, &said
	stdin, err := s.cmd.StdinPipe()
	require.NoError(t, err)
	s.stdin = stdin
	require.NoError(t, s.cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.cmd.Wait() }()
	for deadline := time.Now().Add(startTime); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", s.Address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("the server of S3 ended: %s", said.String())
		default:
			require.True(t, time.Now().Before(deadline), "the server of S3 does not start")
		}
	}
}

// Kill ends the server at once, whatever it is doing.
func (s *Server) Kill() {
	_ = s.stdin.Close()
	for {
		c, err := net.Dial("tcp", s.Address)
		if err != nil {
			return
		}
		_ = c.Close()
		time.Sleep(time.Millisecond)
	}
}

// Settings have an app keep its files in the bucket.
func (s *Server) Settings() []koantest.Setting {
	return []koantest.Setting{
		{Key: "files.s3.endpoint", Value: "http://" + s.Address},
		{Key: "files.s3.bucket", Value: Bucket},
		{Key: "files.s3.region", Value: "eu-central-1"},
		{Key: "files.s3.prefix", Value: "app"},
		{Key: "files.s3.accessKey", Value: AccessKey},
		{Key: "files.s3.secretKey", Value: SecretKey},
	}
}

// Objects are the names of what the bucket has.
func (s *Server) Objects(t testing.TB) (out []string) {
	t.Helper()
	root := filepath.Join(s.folder, "data", Bucket)
	require.NoError(t, filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(root, path)
			out = append(out, filepath.ToSlash(name))
		}
		return err
	}))
	return out
}

// Age makes what the bucket has older.
func (s *Server) Age(t testing.TB, by time.Duration) {
	t.Helper()
	for _, name := range s.Objects(t) {
		path := filepath.Join(s.folder, "data", Bucket, name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(path, time.Time{}, info.ModTime().Add(-by)))
	}
}
