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
				d.rest.Reject(w, r, fault.New(fault.Forbidden, "only programs on this machine may read this").WithHint("Read it from this machine, or set server.tokensFile and give a token the scope %s.", metricsScope))
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		p, f := d.mcp.Admission().Admit(w, r)
		if f == nil && !p.Has(metricsScope) {
			f = fault.Newf(fault.Forbidden, "the scope %q is missing", metricsScope)
		}
		if f != nil {
			d.rest.Reject(w, r, f)
			return
		}
		next.ServeHTTP(w, r)
	})
}
