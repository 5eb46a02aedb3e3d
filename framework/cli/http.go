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

// listen gives what serves over HTTP. An address that other machines reach is
// refused as wrong use unless somebody says who calls, or that nobody has to.
func (c *command) listen(address string, insecure bool) (func(context.Context, Instance, io.Writer) error, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usage(fmt.Errorf("--http: %q is no address; name a host and a port, as 127.0.0.1:8080", address))
	}
	return func(ctx context.Context, i Instance, _ io.Writer) error {
		o := mcpserver.HTTPOptions{}
		if path := i.Values().String("server.tokensFile"); path != "" {
			tokens, err := bearer.Load(path)
			if err != nil {
				return usage(fmt.Errorf("server.tokensFile: %w", err))
			}
			o.Authenticate = tokens.Authenticate
		} else if !local(host) && !insecure {
			return usage(explain(fault.Newf(fault.Unauthorized, "--http %s: other machines could call without saying who they are", address).
				WithHint("Set server.tokensFile, listen on 127.0.0.1, or say --insecure.")))
		}
		return c.serveHTTP(ctx, i, address, o)
	}, nil
}

// local tells whether only this machine reaches a host.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (c *command) serveHTTP(ctx context.Context, i Instance, address string, o mcpserver.HTTPOptions) error {
	cert, key := i.Values().String("server.tlsCert"), i.Values().String("server.tlsKey")
	if (cert == "") != (key == "") {
		return usage(errors.New("server.tlsCert and server.tlsKey belong together"))
	}
	if cert != "" { // before anything says that it listens
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			return usage(fmt.Errorf("server.tlsCert, server.tlsKey: %w", err))
		}
	}
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
