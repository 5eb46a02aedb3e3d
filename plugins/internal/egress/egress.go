// Package egress is the one way out of a confined plugin: an HTTP proxy that connects to the hosts which the
// operator has named, and to no others.
//
// What belongs here: the proxy, and how hosts are named. Not here: how the plugin reaches it (package
// jail), or what is sent over a connection once it is made.
package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Hosts are the hosts that may be reached, as "host:port".
type Hosts map[string]bool

// Parse reads a list of hosts. Each is host:port; the host is a name or an address, IPv6 in brackets.
func Parse(list []string) (Hosts, error) {
	out := Hosts{}
	for _, text := range list {
		host, port, err := net.SplitHostPort(text)
		if err != nil || strings.Trim(host, ".") == "" || strings.ContainsAny(host, "/*? @") {
			return nil, fmt.Errorf("%q is not host:port, such as api.weather.example:443", text)
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("%q has no port from 1 to 65535", text)
		}
		out[name(host, port)] = true
	}
	return out, nil
}

// name is how a host stands in the list: names of hosts have no case, and may end in a dot.
func name(host, port string) string {
	return net.JoinHostPort(strings.ToLower(strings.TrimRight(host, ".")), port)
}

// Proxy is an HTTP proxy for the plugin of a name. It carries connections (CONNECT) and plain requests.
type Proxy struct {
	plugin string
	hosts  Hosts
	log    *slog.Logger
	dialer net.Dialer
	server http.Server
	plain  httputil.ReverseProxy

	mu      sync.Mutex
	refused map[string]bool     // hosts whose refusal was logged
	open    map[net.Conn]func() // carried connections, which the server does not know any more
	closed  bool
}

const (
	dialTimeout = 10 * time.Second
	maxRefused  = 100 // hosts whose refusal is logged
)

// New returns a proxy. Serve serves it.
func New(plugin string, hosts Hosts, log *slog.Logger) *Proxy {
	p := &Proxy{plugin: plugin, hosts: hosts, log: log, refused: map[string]bool{}, open: map[net.Conn]func(){}}
	p.dialer.Timeout = dialTimeout
	p.server = http.Server{Handler: p, ReadHeaderTimeout: dialTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	p.plain = httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {}, // as it came
		Transport: &http.Transport{DialContext: p.dialer.DialContext, DisableCompression: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		ErrorLog: p.server.ErrorLog,
	}
	return p
}

// Serve serves a plugin until Close.
func (p *Proxy) Serve(l net.Listener) error {
	if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends all connections.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, end := range p.open {
		end()
	}
	p.mu.Unlock()
	p.plain.Transport.(*http.Transport).CloseIdleConnections()
	return p.server.Close()
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, err := target(r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case !p.hosts[target]:
		p.refuse(w, target)
	case r.Method == http.MethodConnect:
		p.carry(w, r, target)
	default:
		r.RequestURI = ""
		p.plain.ServeHTTP(w, r)
	}
}

// target is where a request goes.
func target(r *http.Request) (string, error) {
	address := r.Host
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			return "", errors.New("this is a proxy: it takes CONNECT, and requests with a whole http URL")
		}
		address = hostPort(r.URL)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	return name(host, port), nil
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// refuse tells the plugin, and the log once, which host is missing in the list.
func (p *Proxy) refuse(w http.ResponseWriter, target string) {
	p.mu.Lock()
	fresh := !p.refused[target] && len(p.refused) < maxRefused
	if fresh {
		p.refused[target] = true
	}
	p.mu.Unlock()
	key := "plugins." + p.plugin + ".hosts"
	if fresh {
		p.log.Warn("the plugin may not reach a host that "+key+" does not name", "host", target)
	}
	http.Error(w, target+" is not in "+key+" of the app's configuration", http.StatusForbidden)
}

// carry connects the plugin with a host.
func (p *Proxy) carry(w http.ResponseWriter, r *http.Request, target string) {
	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
	defer cancel()
	outer, err := p.dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer outer.Close()
	inner, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer inner.Close()
	if !p.note(inner, func() { _ = errors.Join(inner.Close(), outer.Close()) }) {
		return
	}
	defer p.forget(inner)
	_ = inner.SetDeadline(time.Time{})
	if _, err := io.WriteString(inner, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(outer, buffered)
		closeWrite(outer)
	}()
	_, _ = io.Copy(inner, outer)
	closeWrite(inner)
	<-done
}

// note keeps how a carried connection is ended, and reports whether the proxy is still open.
func (p *Proxy) note(c net.Conn, end func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.open[c] = end
	}
	return !p.closed
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// closeWrite tells the other side that nothing more comes, where a connection can say so.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}
