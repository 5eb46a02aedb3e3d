package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/site"
)

// Limits of an HTTP connection. What a request may do is the handler's.
const (
	headerTime  = 10 * time.Second
	headerBytes = 64 << 10
	idleTime    = 2 * time.Minute
	flushTime   = 2 * time.Second // for the last answers of a server that ends
)

// listen returns the function that serves over HTTP. It checks the configuration before
// the app starts: an address that other machines reach is rejected unless callers
// authenticate or insecure is set.
func (c *server) listen(address string, insecure bool) (func(context.Context, Instance, io.Writer) error, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return nil, usage(fmt.Errorf("--http: %q is not an address; give a host and a port, such as 127.0.0.1:8080", address))
	}
	configured, err := c.app.Configure(c.source(nil))
	if err != nil {
		return nil, usage(err)
	}
	v := configured.Settings()
	_, wrong := tlsPair(v)
	callers, err := access.Read(v, site.IsLocal(host))
	if err := errors.Join(wrong, err); err != nil {
		return nil, usage(err)
	}
	if callers.Anybody() && !site.IsLocal(host) && !insecure {
		return nil, usage(explain(fault.Newf(fault.Unauthorized, "--http %s: other machines could call without saying who they are", address).
			WithHint("Set server.oauth.issuer or server.tokensFile, listen on 127.0.0.1, or use --insecure.")))
	}
	shown, err := wantsConsole(v, host, callers)
	if err != nil {
		return nil, usage(err)
	}
	return func(ctx context.Context, i Instance, _ io.Writer) error {
		return c.serveHTTP(ctx, i, address, shown)
	}, nil
}

// tlsPair reads the files of TLS; it returns nil if there are none.
func tlsPair(v catalog.Values) (*tls.Certificate, error) {
	cert, key := v.String("server.tlsCert"), v.String("server.tlsKey")
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, errors.New("server.tlsCert and server.tlsKey belong together")
	}
	both, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("server.tlsCert, server.tlsKey: %w", err)
	}
	return &both, nil
}

// keyConsole is the key that says where there is a console.
const keyConsole = "console"

// wantsConsole reports whether a server that listens on a host has a console. Whoever may use it
// must be known, or sit at this machine.
func wantsConsole(v catalog.Values, host string, callers access.Config) (bool, error) {
	switch v.String(keyConsole) {
	case "false":
		return false, nil
	case "true":
		if !site.IsLocal(host) && callers.Anybody() {
			return false, explain(fault.Newf(fault.Unauthorized, "%s is true, and other machines could use it without saying who they are", keyConsole).
				WithHint("Set server.oauth.issuer or server.tokensFile, or listen on 127.0.0.1."))
		}
		return true, nil
	}
	return site.IsLocal(host), nil
}

// Address is where an app is served, and what it has there beside MCP and REST.
type Address struct {
	URL     string // of the server, such as http://127.0.0.1:8080
	Console bool
	Print   func(line string) // shows a line to the local operator
}

func (c *server) serveHTTP(ctx context.Context, i Instance, address string, shown bool) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return failed(withPort(err))
	}
	certificate, err := tlsPair(i.Values())
	if err != nil {
		_ = listener.Close()
		return failed(err)
	}
	scheme := "http"
	if certificate != nil {
		scheme = "https"
	}
	base := fmt.Sprintf("%s://%s", scheme, listener.Addr())
	h, err := i.Site(Address{URL: base, Console: shown, Print: func(line string) { fmt.Fprintln(c.app.Stderr, line) }})
	if err != nil {
		_ = listener.Close()
		return failed(err)
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(i.Log().Handler(), slog.LevelDebug),
	}
	serve := func() error { return server.Serve(listener) }
	if certificate != nil {
		server.TLSConfig = tlsConfig(i, certificate)
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	defer c.watchConfig(ctx, i)()
	c.report(i)
	fmt.Fprintf(c.app.Stderr, "MCP: listening on %s/mcp\n", base)
	h.Announce()
	served := make(chan error, 1)
	go func() { served <- serve() }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = nil
		h.Ending()
	}
	// Calls have their time; clients then still have to be told which were interrupted.
	h.Shutdown(context.Background())
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

// tlsConfig is TLS with a certificate that may be renewed while the app runs.
func tlsConfig(i Instance, first *tls.Certificate) *tls.Config {
	var now atomic.Pointer[tls.Certificate]
	now.Store(first)
	i.OnReload(func(next catalog.Values) (func(), error) {
		renewed, err := tlsPair(next)
		if err == nil && renewed == nil {
			err = errors.New("server.tlsCert: turning TLS off needs a restart")
		}
		return func() {
			if last := now.Swap(renewed); !slices.EqualFunc(last.Certificate, renewed.Certificate, bytes.Equal) {
				i.Log().Info("the certificate was reloaded")
			}
		}, err
	})
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return now.Load(), nil },
	}
}

// withPort says what to do where another program listens on the address.
func withPort(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w\n  hint: %s", err, "Another program listens there, perhaps this one from before. Stop it, or name another port with --http.")
	}
	return err
}
