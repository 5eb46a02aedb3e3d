package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// httpFront is an address that clients ask. Their requests wait until a process serves.
type httpFront struct {
	listener net.Listener
	errs     io.Writer

	mu      sync.Mutex
	process *process
	serving chan struct{} // closed when a process serves the next time
	proxy   *httputil.ReverseProxy
}

// waitWithin is how long a request waits for a process.
const waitWithin = time.Minute

// newHTTPFront listens on an address of this machine. Behind it the app takes everybody for a caller of this machine, who
// need not say who it is.
func newHTTPFront(address string, errs io.Writer) (*httpFront, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--http %s is not an address: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--http %s: koan dev listens on this machine only, such as 127.0.0.1:8080; for others there is serve", address)
	}
	l, err := net.Listen("tcp", address)
	return &httpFront{listener: l, errs: errs}, err
}

// run implements front.
func (f *httpFront) run(ctx context.Context) error {
	server := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP passes a request on.
func (f *httpFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	late := time.After(waitWithin)
	for {
		f.mu.Lock()
		proxy, serving := f.proxy, f.open()
		f.mu.Unlock()
		if proxy != nil {
			proxy.ServeHTTP(w, r)
			return
		}
		select {
		case <-serving:
		case <-r.Context().Done():
			return
		case <-late:
			http.Error(w, "the app does not serve; see what koan dev says", http.StatusServiceUnavailable)
			return
		}
	}
}

// open returns what is closed when a process serves. The caller holds f.mu.
func (f *httpFront) open() chan struct{} {
	if f.serving == nil {
		f.serving = make(chan struct{})
	}
	return f.serving
}

// replace implements front.
func (f *httpFront) replace(ctx context.Context, made build) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	p, err := start(made, renamed{f.errs, port, f.listener.Addr().String()}, "--http", port)
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, p.out) }()
	if err := ready(ctx, p, "http://"+port+"/healthz"); err != nil {
		p.end()
		return err
	}
	target := &url.URL{Scheme: "http", Host: port}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
		http.Error(w, "the app was replaced while it worked on this", http.StatusBadGateway)
	}}
	f.mu.Lock()
	old := f.process
	f.process, f.proxy = p, proxy
	close(f.open())
	f.serving = nil
	f.mu.Unlock()
	if old != nil {
		old.end()
	}
	return nil
}

// renamed passes on what a process says, with the address that people use in place of its own.
type renamed struct {
	to      io.Writer
	own, as string
}

// Write implements io.Writer.
func (r renamed) Write(p []byte) (int, error) {
	_, err := io.WriteString(r.to, strings.ReplaceAll(string(p), r.own, r.as))
	return len(p), err
}

// freePort returns an address of this machine that nobody listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// ready waits until a process serves.
func ready(ctx context.Context, p *process, at string) error {
	late := time.After(serveWithin)
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.ended:
			return errEnded
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("it does not serve within %s", serveWithin)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop implements front.
func (f *httpFront) stop() {
	f.mu.Lock()
	p := f.process
	f.process, f.proxy = nil, nil
	f.mu.Unlock()
	if p != nil {
		p.end()
	}
}
