package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

// ServeStdio serves one client: one message per line in, one per line out. It returns
// nil when the input has ended and every call has its response (calls that still run
// after Options.Grace are cancelled), or when ctx ends (then everything is cancelled at
// once). An error means that reading or writing failed.
//
// Nothing but protocol is written to out. A read of in that is still waiting when
// ctx ends is left behind.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	defer s.tasks.drain(s.opts.Grace, ctx.Done())
	if err := s.serveLines(ctx, s.opts.Principal, in, out); err != nil {
		return fmt.Errorf("mcpserver: stdio: %w", err)
	}
	return nil
}

// serveLines is ServeStdio for a client that calls as p.
func (s *Server) serveLines(ctx context.Context, p auth.Principal, in io.Reader, out io.Writer) error {
	calls, stop := context.WithCancelCause(auth.With(context.WithoutCancel(ctx), p))
	defer stop(nil)
	box := newOutbox(s.opts.MaxBufferBytes)
	ss := newSession(s, box)
	ss.dialogs.lasting = &ask.Session{}
	s.add(ss)
	defer s.remove(ss)

	written := make(chan error, 1)
	go func() { written <- box.run(out) }()
	ended := make(chan error, 1)
	left := make(chan struct{})
	go func() {
		ended <- s.readLines(calls, ss, newLineReader(in, s.opts.MaxBufferBytes), pipe{box, out}, left)
	}()
	defer context.AfterFunc(ctx, box.unbind)()

	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	case <-box.failed: // the writer says why
	}
	close(left)
	box.unbind() // what is left is bounded by the calls in flight
	done := ss.drain()
	if err == nil {
		waitFor(done, s.opts.Grace, ctx.Done(), box.failed)
	}
	ss.requests.stop(errEnding)
	waitFor(done, 2*settle, nil, nil)
	box.close()
	err = errors.Join(err, s.flush(ctx, box, written))
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// flush waits until the writer has written everything: up to Options.Grace for a slow
// reader, and less once ctx has ended.
func (s *Server) flush(ctx context.Context, box *outbox, written <-chan error) error {
	grace := time.NewTimer(s.opts.Grace)
	defer grace.Stop()
	select {
	case err := <-written:
		return err
	case <-grace.C:
	case <-ctx.Done():
		select {
		case err := <-written:
			return err
		case <-time.After(settle):
		}
	}
	box.fail(errAbandoned)
	return errAbandoned
}

// readLines reads lines until the input ends or the client has stopped reading. The error
// is that of reading.
func (s *Server) readLines(calls context.Context, ss *session, lines *lineReader, to sink, left <-chan struct{}) error {
	for {
		l := lines.next()
		select {
		case <-left:
			return nil
		default:
		}
		switch {
		case errors.Is(l.err, io.EOF):
			return nil
		case l.err != nil:
			return l.err
		case l.tooLong:
			refuse(to, l.id, fault.Newf(fault.InvalidRequest, "the message is longer than %d bytes", s.opts.MaxBufferBytes).
				WithHint("Send less in one message, or raise server.maxBufferBytes.").
				WithDetails(map[string]any{"maxBufferBytes": s.opts.MaxBufferBytes}))
		default:
			if items, batch := parse(l.text); batch {
				ss.handleBatch(calls, items, to)
			} else {
				ss.handle(calls, items[0], to)
			}
		}
	}
}

// waitFor waits for done, up to limit, unless the server is stopped or the connection is
// broken.
func waitFor(done <-chan struct{}, limit time.Duration, stopped, broken <-chan struct{}) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-stopped:
	case <-broken:
	case <-t.C:
	}
}
