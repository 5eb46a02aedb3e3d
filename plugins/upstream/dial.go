package upstream

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// way is how a session with a server is begun.
type way struct {
	legacy bool // with the handshake of versions before 2026-07-28, and no question before it
	events bool // over HTTP with server-sent events, as before 2025-03-26
}

// dialer connects a server. A server that cannot be reached in one way is tried in the others.
type dialer struct {
	cfg         *Config
	credentials *signin.Credentials // whose token requests over HTTP have; nil sends none
	version     string
	hide        func(secrets []string)  // called with the secrets of the configuration
	known       *way                    // what worked before; nil is not known
	changed     func()                  // called when the server says that its lists have changed; it must not block
	skipped     func(words string)      // called with what of its output is no message
	process     atomic.Pointer[process] // the last one that was started
	closing     *sync.WaitGroup         // of attempts that nobody needs any more
}

// ways returns how the server may be reached, and first what is known to have worked.
func (d *dialer) ways() []way {
	if len(d.cfg.Command) > 0 {
		if d.known != nil && d.known.legacy {
			return []way{{legacy: true}, {}}
		}
		return []way{{}, {legacy: true}}
	}
	events := way{legacy: true, events: true}
	switch {
	case d.cfg.Transport == "sse":
		return []way{events}
	case d.known == nil || *d.known == way{}:
		return []way{{}, events}
	case d.known.events:
		return []way{events, {}}
	}
	return []way{*d.known, {}, events}
}

// attempt is how one way to connect ended.
type attempt struct {
	conn *connection
	err  error
}

// patience is after how many times a server's start another way to start it is tried beside the first:
// it may hang, because the first question was not what it expected.
const patience = 2

// connect opens a session, within ctx; life is the context of the session.
func (d *dialer) connect(ctx, life context.Context) (*connection, error) {
	r, err := d.cfg.resolve()
	if err != nil {
		return nil, err
	}
	d.hide(r.hidden)
	r.secrets.tokens = d.credentials
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ways, results, running := d.ways(), make(chan attempt), 0
	begin := func() {
		w := ways[0]
		ways = ways[1:]
		running++
		go func() {
			conn, err := d.open(ctx, life, r, w)
			results <- attempt{conn, err}
		}()
	}
	begin()
	hanging := time.NewTimer(patience * d.cfg.Start)
	defer hanging.Stop()
	for {
		select {
		case <-hanging.C:
			if len(d.cfg.Command) > 0 && len(ways) > 0 {
				begin()
			}
			continue
		case a := <-results:
			running--
			if a.err == nil {
				d.abandon(results, running)
				return a.conn, nil
			}
			if err == nil || len(d.cfg.Command) > 0 || errors.As(a.err, new(*refusal)) { // the first error of a url says most
				err = a.err
			}
			if isFinal(a.err) || ctx.Err() != nil {
				ways = nil
			}
		}
		switch {
		case len(ways) > 0:
			begin()
		case running == 0:
			return nil, &explained{text: r.secrets.redact(reasonOf(err)), err: err}
		}
	}
}

// abandon closes what other attempts open.
func (d *dialer) abandon(results <-chan attempt, running int) {
	d.closing.Go(func() {
		for range running {
			if a := <-results; a.conn != nil {
				a.conn.close()
			}
		}
	})
}

// slow is the error of a server that is still starting when the time for that is over.
func (d *dialer) slow() error {
	err := &slowStart{d.cfg.Start}
	if p := d.process.Load(); p != nil {
		return p.late(err)
	}
	return err
}

// isFinal reports whether no other way to connect can help after an error.
func isFinal(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.status == http.StatusUnauthorized || status.status == http.StatusForbidden || status.status == http.StatusTooManyRequests
	}
	return neverSent(err) || errors.As(err, new(*tokenError)) || errors.As(err, new(*noFolder)) || errors.As(err, new(*circle)) || errors.Is(err, exec.ErrNotFound) || errors.As(err, new(*fs.PathError))
}

// open opens a session in one way. Servers before 2026-07-28 send notifications over a second
// connection, which the client library opens at the start or never.
func (d *dialer) open(ctx, life context.Context, r *resolved, w way) (*connection, error) {
	conn, err := d.begin(ctx, life, r, w, false)
	if err == nil && conn.process == nil && !w.events && conn.about.lists && !mcp.IsModernProtocol(conn.about.Protocol) {
		conn.close()
		conn, err = d.begin(ctx, life, r, w, true)
	}
	return conn, err
}

func (d *dialer) begin(ctx, life context.Context, r *resolved, w way, listen bool) (*connection, error) {
	conn := newConnection(d, r.secrets, w)
	if err := conn.start(ctx, life, r, listen); err != nil {
		if ctx.Err() != nil && conn.process != nil {
			err = conn.process.late(context.Cause(ctx))
		} else {
			err = conn.why(ctx, err)
		}
		conn.close()
		return nil, err
	}
	return conn, nil
}

// transport makes the connection's transport.
func (conn *connection) transport(r *resolved, listen bool) (transport.Interface, error) {
	d := conn.dialer
	if len(d.cfg.Command) > 0 {
		ancestors, err := d.cfg.descend(r.dir)
		if err != nil {
			return nil, err
		}
		p, err := startProcess(r, ancestors)
		if err != nil {
			return nil, err
		}
		conn.process = p
		d.process.Store(p)
		p.out.hear(conn.requests.unreadable, conn.requests.ownerOf, d.skipped, conn.stray)
		return recorder{p.transport(), conn}, nil
	}
	httpClient := newHTTPClient(r.headers, r.secrets, conn)
	if conn.way.events {
		t, err := transport.NewSSE(r.url, transport.WithHTTPClient(httpClient), transport.WithEndpointTimeout(min(d.cfg.Start, endpointTime)),
			transport.WithResponseTimeout(d.cfg.Timeout+d.cfg.Start), transport.WithSSELogger(silent))
		if err == nil {
			t.SetConnectionLostHandler(func(error) { conn.cut() })
		}
		return &eventsRecorder{recorder: recorder{t, conn}, stream: t, client: httpClient}, err
	}
	opts := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(httpClient), transport.WithHTTPLogger(silent)}
	if listen {
		//lint:ignore SA1019 servers before 2026-07-28 have no other way to send notifications
		opts = append(opts, transport.WithContinuousListening())
	}
	t, err := transport.NewStreamableHTTP(r.url, opts...)
	return &httpRecorder{recorder: recorder{t, conn}, stream: t, url: r.url, client: httpClient}, err
}

// endpointTime bounds the wait for the event that a stream of the older HTTP transport begins with: other
// servers have streams, too, and say nothing on them.
const endpointTime = 10 * time.Second

// remembered returns what way worked for a server that was described before; nil if it was not.
func (a *about) remembered() *way {
	if a.Protocol == "" {
		return nil
	}
	return &way{legacy: !mcp.IsModernProtocol(a.Protocol), events: a.Transport == "sse"}
}
