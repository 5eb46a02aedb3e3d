package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// ServeStdio speaks with one client: one message per line in, one per line out.
// It returns when the input has ended and every call has its answer (within
// Options.Grace, after which what still runs is cancelled and answered so), or
// when ctx ends (then everything is cancelled at once). Both give nil. An error
// means that reading or writing failed.
//
// Nothing but protocol is written to out. A read of in that is still waiting when
// ctx ends is left behind.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	calls, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	box := newOutbox(s.opts.MaxBufferBytes)
	ss := newSession(s, s.opts.Principal, box)
	s.add(ss)
	defer s.remove(ss)

	written := make(chan error, 1)
	go func() { written <- box.run(out) }()
	lines := make(chan line)
	left := make(chan struct{})
	defer close(left)
	go readLines(newLineReader(in, s.opts.MaxBufferBytes), lines, left)
	defer context.AfterFunc(ctx, box.unbind)()

	err := s.converse(ctx, calls, ss, lines, box)
	done := ss.drain()
	if err == nil {
		waitFor(done, s.opts.Grace, ctx.Done(), box.failed)
	}
	box.unbind()
	ss.stop(errEnding)
	waitFor(done, 2*settle, nil, nil)
	box.close()
	select {
	case werr := <-written:
		err = errors.Join(err, werr)
	case <-time.After(settle):
		box.fail(errAbandoned)
		err = errors.Join(err, errAbandoned)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("mcpserver: stdio: %w", err)
	}
	return nil
}

// converse takes lines until the input or the context ends. nil means one of
// those; an error is why reading or writing failed.
func (s *Server) converse(ctx, calls context.Context, ss *session, lines <-chan line, box *outbox) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-box.failed:
			return nil // the writer's own error is reported by the caller
		case l := <-lines:
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return l.err
			case l.tooLong:
				ss.refuse(l.id, fault.Newf(fault.InvalidRequest, "the message is longer than %d bytes", s.opts.MaxBufferBytes).
					WithHint("Send less in one message, or raise server.maxBufferBytes.").
					WithDetails(map[string]any{"maxBufferBytes": s.opts.MaxBufferBytes}))
			default:
				ss.take(calls, l.text)
			}
		}
	}
}

// readLines hands lines on until the input has ended or nobody listens any more.
func readLines(r *lineReader, lines chan<- line, left <-chan struct{}) {
	for {
		l := r.next()
		select {
		case lines <- l:
		case <-left:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// waitFor waits for done, but no longer than limit, and not once told to end or
// the connection is broken.
func waitFor(done <-chan struct{}, limit time.Duration, told, broken <-chan struct{}) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-told:
	case <-broken:
	case <-t.C:
	}
}
