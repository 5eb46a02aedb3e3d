package cli

import (
	"net"
	"net/http"

	"github.com/koan-go/koan/framework/fault"
)

// metricsScope is the scope for /metrics if callers authenticate.
const metricsScope = "koan:metrics"

// metrics guards the metrics, which have names of tools and how often calls fail. If
// callers authenticate it requires a scope; otherwise it serves only this machine, and no
// pages of a browser.
func (d *endpoint) metrics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.callers == nil {
			host, _, err := net.SplitHostPort(r.Host)
			if err != nil {
				host = r.Host
			}
			from, _, err := net.SplitHostPort(r.RemoteAddr)
			if err != nil || !isLocal(from) || !isLocal(host) || r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" {
				http.Error(w, "only programs on this machine may read this", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		p, err := d.callers.Authenticate(r)
		if err == nil && !p.Has(metricsScope) {
			err = fault.Newf(fault.Forbidden, "the scope %q is missing", metricsScope)
		}
		if err != nil {
			entry, _ := fault.Lookup(fault.CodeOf(err))
			http.Error(w, fault.From(err).Message, entry.HTTP)
			return
		}
		next.ServeHTTP(w, r)
	})
}
