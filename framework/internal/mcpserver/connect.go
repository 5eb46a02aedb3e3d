package mcpserver

import (
	"context"
	"errors"
	"io"

	"github.com/koan-go/koan/framework/auth"
)

// Connect serves a client in the same program, which calls as p. What the client
// writes to the connection is read as over stdio, one message per line, and reads return
// the server's messages, so that the client of any MCP library over a pair of streams
// works.
//
// Each connection is a session of its own, of either era. Reads and writes may be
// concurrent. Close and the end of ctx end it: calls that still run are cancelled and
// rolled back. Close returns once that has happened.
func (s *Server) Connect(ctx context.Context, p auth.Principal) io.ReadWriteCloser {
	ctx, end := context.WithCancel(ctx)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := &connection{PipeReader: fromServer, PipeWriter: toServer, end: end, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		defer end()
		err := s.serveLines(ctx, p, in, out)
		_ = in.CloseWithError(errors.Join(io.ErrClosedPipe, err))
		_ = out.CloseWithError(err) // nil is the end of the stream
	}()
	return c
}

// connection is the client's end.
type connection struct {
	*io.PipeReader // from the server
	*io.PipeWriter // to the server
	end            context.CancelFunc
	ended          chan struct{}
}

// Read implements io.Reader. It returns io.EOF after Close, as after the server's end.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.PipeReader.Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (c *connection) Close() error {
	c.end()
	_ = c.PipeWriter.Close()
	_ = c.PipeReader.Close()
	<-c.ended
	return nil
}
