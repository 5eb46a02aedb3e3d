package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/bearer"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/mcpserver"
)

// Limits of an HTTP connection. What a request may do is the handler's.
const (
	headerTime  = 10 * time.Second
	headerBytes = 64 << 10
	idleTime    = 2 * time.Minute
	flushTime   = 2 * time.Second // for the last answers of a server that ends
)

// listen gives what serves over HTTP. What is wrong with it is known before the app
// starts: an address that other machines reach is refused unless somebody says who
// calls, or that nobody has to.
func (c *command) listen(address string, insecure bool) (func(context.Context, Instance, io.Writer) error, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usage(fmt.Errorf("--http: %q is no address; name a host and a port, as 127.0.0.1:8080", address))
	}
	configured, err := c.app.Configure(c.source(nil))
	if err != nil {
		return nil, usage(err)
	}
	v := configured.Settings()
	if err := pair(v.String("server.tlsCert"), v.String("server.tlsKey")); err != nil {
		return nil, usage(err)
	}
	o := mcpserver.HTTPOptions{}
	if path := v.String("server.tokensFile"); path != "" {
		tokens, err := bearer.Load(path)
		if err != nil {
			return nil, usage(fmt.Errorf("server.tokensFile: %w", err))
		}
		o.Authenticate = tokens.Authenticate
	} else if !local(host) && !insecure {
		return nil, usage(explain(fault.Newf(fault.Unauthorized, "--http %s: other machines could call without saying who they are", address).
			WithHint("Set server.tokensFile, listen on 127.0.0.1, or say --insecure.")))
	}
	return func(ctx context.Context, i Instance, _ io.Writer) error { return c.serveHTTP(ctx, i, address, o) }, nil
}

// pair checks the files of TLS, where there are any.
func pair(cert, key string) error {
	if cert == "" && key == "" {
		return nil
	}
	if cert == "" || key == "" {
		return errors.New("server.tlsCert and server.tlsKey belong together")
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return fmt.Errorf("server.tlsCert, server.tlsKey: %w", err)
	}
	return nil
}

// local tells whether only this machine reaches a host.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (c *command) serveHTTP(ctx context.Context, i Instance, address string, o mcpserver.HTTPOptions) error {
	cert, key := i.Values().String("server.tlsCert"), i.Values().String("server.tlsKey")
	handler, err := i.HTTPHandler(o)
	if err != nil {
		return failed(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return failed(err)
	}
	var ending atomic.Bool
	server := &http.Server{
		Handler: routes(handler, &ending), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(i.Log().Handler(), slog.LevelDebug),
	}
	scheme := "http"
	serve := func() error { return server.Serve(listener) }
	if cert != "" {
		scheme = "https"
		serve = func() error { return server.ServeTLS(listener, cert, key) }
	}
	c.report(i)
	fmt.Fprintf(c.app.Stderr, "MCP: listening on %s://%s/mcp\n", scheme, listener.Addr())
	served := make(chan error, 1)
	go func() { served <- serve() }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = nil
		ending.Store(true)
	}
	// Calls get their time by themselves; what was cut off then still has to be told.
	handler.Shutdown(context.Background())
	rest, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if serr := server.Shutdown(rest); serr != nil {
		_ = server.Close()
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return failed(err)
	}
	return nil
}

// routes has MCP and the two questions that supervisors ask.
func routes(mcp http.Handler, ending *atomic.Bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ending.Load() {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	return mux
}
