package mcpserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
)

// rejectForeign rejects what a page of another site makes a browser send. A site may
// point its own name at 127.0.0.1: so a server that listens on loopback answers
// to names of loopback only, and to those that are configured.
func (h *HTTP) rejectForeign(r *http.Request) *fault.Fault {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && loopback(local.String()) && !loopback(r.Host) && !h.allowedHost(r.Host) {
		return fault.Newf(fault.Forbidden, "the host %q is not served here", r.Host).
			WithHint("Call it by localhost, or add the name to server.allowedHosts.")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || h.allowedOrigin(origin) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) && h.isOwnPage(r) {
		return nil
	}
	return fault.Newf(fault.Forbidden, "pages of %q may not call this server", origin).
		WithHint("Add the origin to server.allowedOrigins if they should.")
}

// isOwnPage reports whether a page of the host that a request names is one of this
// machine's. Any site can point its name here; what it cannot do is come by an
// address, by TLS, or with somebody's token.
func (h *HTTP) isOwnPage(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	_, err = netip.ParseAddr(host)
	return err == nil || h.known || r.TLS != nil || loopback(r.Host) || h.allowedHost(r.Host)
}

func (h *HTTP) allowedHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return slices.ContainsFunc(h.now().AllowedHosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(allowed, name)
	})
}

func (h *HTTP) allowedOrigin(origin string) bool {
	return slices.ContainsFunc(h.now().AllowedOrigins, func(allowed string) bool { return strings.EqualFold(allowed, origin) })
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

// crossOrigin sets the CORS headers for a page of an allowed origin. It reports whether
// the request was a preflight, which it has answered.
func (h *HTTP) crossOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || !h.allowedOrigin(origin) {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Add("Vary", "Origin")
	w.Header().Set("Access-Control-Expose-Headers", strings.Join([]string{mcp.HeaderSessionID, "WWW-Authenticate"}, ", "))
	if r.Method != http.MethodOptions {
		return false
	}
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", strings.Join([]string{
		"Authorization", "Content-Type", "Accept", mcp.HeaderProtocolVersion, mcp.HeaderSessionID, mcp.HeaderMethod, mcp.HeaderName, mcp.HeaderLastEventID,
	}, ", "))
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
