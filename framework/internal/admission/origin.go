package admission

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// RejectForeign rejects what a page of another site makes a browser send. A site may
// point its own name at 127.0.0.1: so a server that listens on loopback answers
// to names of loopback only, and to those that are configured.
func (a *Admission) RejectForeign(r *http.Request) *fault.Fault {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && isLoopback(local) && !loopback(r.Host) && !a.allowedHost(r.Host) {
		return fault.Newf(fault.Forbidden, "the host %q is not served here", r.Host).
			WithHint("Call it by localhost, or add the name to server.allowedHosts.")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || a.allowedOrigin(origin) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) && a.isOwnPage(r) {
		return nil
	}
	return fault.Newf(fault.Forbidden, "pages of %q may not call this server", origin).
		WithHint("Add the origin to server.allowedOrigins if they should.")
}

// isOwnPage reports whether a page of the host that a request names is one of this
// machine's. Any site can point its name here; what it cannot do is come by an
// address, by TLS, or with somebody's token.
func (a *Admission) isOwnPage(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	_, err = netip.ParseAddr(host)
	return err == nil || a.known || r.TLS != nil || loopback(r.Host) || a.allowedHost(r.Host)
}

func (a *Admission) allowedHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return slices.ContainsFunc(a.now().AllowedHosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, name)
	})
}

func (a *Admission) allowedOrigin(origin string) bool {
	return slices.ContainsFunc(a.now().AllowedOrigins, func(allowed string) bool { return strings.EqualFold(allowed, origin) })
}

// isLoopback reports whether a connection's end is this machine's own.
func isLoopback(a net.Addr) bool {
	if tcp, ok := a.(*net.TCPAddr); ok { // without writing the address as text for each request
		return tcp.IP.IsLoopback()
	}
	return loopback(a.String())
}

// loopback reports whether an address, with a port or without, is this machine's
// own.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// CORS is what pages of allowed origins may do with a surface.
type CORS struct {
	Methods string // that they may use
	Headers string // that they may send
	Exposed string // headers that they may read
}

// CrossOrigin sets the CORS headers for a page of an allowed origin. It reports whether
// the request was a preflight, which it has answered.
func (a *Admission) CrossOrigin(w http.ResponseWriter, r *http.Request, c CORS) (answered bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || !a.allowedOrigin(origin) {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Add("Vary", "Origin")
	w.Header().Set("Access-Control-Expose-Headers", c.Exposed)
	if r.Method != http.MethodOptions {
		return false
	}
	w.Header().Set("Access-Control-Allow-Methods", c.Methods)
	w.Header().Set("Access-Control-Allow-Headers", c.Headers)
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
