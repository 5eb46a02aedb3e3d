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
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/console"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/oauth"
	"github.com/koan-go/koan/framework/internal/restapi"
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
func (c *command) listen(address string, insecure bool) (func(context.Context, Instance, io.Writer) error, error) {
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
	callers, err := access.Read(v, isLocal(host))
	if err := errors.Join(wrong, err); err != nil {
		return nil, usage(err)
	}
	if callers.Anybody() && !isLocal(host) && !insecure {
		return nil, usage(explain(fault.Newf(fault.Unauthorized, "--http %s: other machines could call without saying who they are", address).
			WithHint("Set server.oauth.issuer or server.tokensFile, listen on 127.0.0.1, or use --insecure.")))
	}
	shown, err := wantsConsole(v, host, callers)
	if err != nil {
		return nil, usage(err)
	}
	return func(ctx context.Context, i Instance, _ io.Writer) error {
		return c.serveHTTP(ctx, i, address, callers, shown)
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
		if !isLocal(host) && callers.Anybody() {
			return false, explain(fault.Newf(fault.Unauthorized, "%s is true, and other machines could use it without saying who they are", keyConsole).
				WithHint("Set server.oauth.issuer or server.tokensFile, or listen on 127.0.0.1."))
		}
		return true, nil
	}
	return isLocal(host), nil
}

// isLocal reports whether only this machine reaches a host.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (c *command) serveHTTP(ctx context.Context, i Instance, address string, config access.Config, shown bool) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return failed(err)
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
	d := &endpoint{}
	if err := d.open(i, config, base+"/mcp", c.app.Name); err != nil {
		_ = listener.Close()
		return failed(err)
	}
	if shown {
		d.showConsole(i, base, c.app.Stderr)
	}
	server := &http.Server{
		Handler: d.routes(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
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
	if d.console != nil {
		d.console.Announce()
	}
	served := make(chan error, 1)
	go func() { served <- serve() }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = nil
		d.ending.Store(true)
	}
	// Shutdown of the surfaces gives calls their time; clients then still have to be told
	// which were interrupted.
	var surfaces sync.WaitGroup
	surfaces.Go(func() { d.mcp.Shutdown(context.Background()) })
	surfaces.Go(func() { d.rest.Shutdown(context.Background()) })
	surfaces.Wait()
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

// endpoint serves everything at the address: MCP, authentication, and the paths for
// supervisors and for clients without a token.
type endpoint struct {
	mcp     *mcpserver.HTTP
	rest    *restapi.Handler
	console *console.Handler // nil where there is none
	pages   http.Handler     // the app's own; nil without
	callers *access.Callers  // nil where nobody is asked
	counted http.Handler     // nil where nothing is
	app     readiness
	ending  atomic.Bool
}

func (d *endpoint) open(i Instance, config access.Config, url, name string) (err error) {
	o := mcpserver.HTTPOptions{}
	d.app.ask, d.app.log = i.Ready, i.Log()
	if !config.Anybody() {
		if d.callers, err = config.Callers(access.App{Name: name, URL: url, Catalog: i.Snapshot, Log: i.Log()}); err != nil {
			return err
		}
		o.Authenticate, o.StepUp = d.callers.Authenticate, d.callers.StepUp
		i.OnReload(d.reload)
	}
	d.counted = i.Metrics()
	if d.mcp, err = i.HTTPHandler(o); err != nil {
		return err
	}
	d.rest = i.RESTHandler(d.mcp)
	d.pages = i.Pages(d.rest)
	return nil
}

// showConsole adds the console. Whoever knows the server by another address uses that.
func (d *endpoint) showConsole(i Instance, base string, out io.Writer) {
	site := console.Site{URL: base, Home: d.pages != nil, Print: func(line string) { fmt.Fprintln(out, line) }}
	if public, err := url.Parse(i.Values().String("server.publicUrl")); err == nil && public.Host != "" {
		site.URL = public.Scheme + "://" + public.Host
	}
	if d.callers != nil {
		site.Authenticate = d.callers.Authenticate
		if issuer := d.callers.SignIn(site.URL + console.DonePath); issuer != nil {
			site.Issuer = issuer
		}
	}
	d.console = i.Console(d.rest, d.mcp, site)
}

// reload reads the tokens again, and notifies open clients that lists may have changed.
func (d *endpoint) reload(next catalog.Values) (apply func(), err error) {
	take, err := d.callers.Reload(next)
	if take == nil {
		return nil, err
	}
	return func() {
		take()
		d.mcp.RightsChanged()
	}, err
}

// elsewhere serves paths that nothing has. A person who opens the bare address comes to the console.
func (d *endpoint) elsewhere(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && d.console != nil && restapi.WantsPage(r) {
		http.Redirect(w, r, console.Path, http.StatusSeeOther)
		return
	}
	d.rest.RejectPath(w, r)
}

func (d *endpoint) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", d.mcp)
	for _, path := range restapi.Paths() {
		mux.Handle(path, d.rest)
	}
	if d.pages != nil {
		mux.Handle("/", d.pages)
	} else {
		mux.HandleFunc("/", d.elsewhere)
	}
	if d.console != nil {
		mux.Handle(console.Path, d.console)
		mux.Handle(console.Path+"/", d.console)
	}
	if d.callers != nil {
		if about := d.callers.Metadata(); about != nil {
			mux.Handle(oauth.WellKnown, about)
			mux.Handle(oauth.WellKnown+"/", about)
		}
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", d.ready)
	if d.counted != nil {
		mux.Handle("GET /metrics", d.metrics(d.counted))
	}
	return mux
}
