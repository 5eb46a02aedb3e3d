package site

import (
	"net"
	"net/http"
	"slices"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

// metricsScope is the scope for /metrics if callers authenticate.
const metricsScope = "koan:metrics"

// metrics guards the metrics, which have names of tools and how often calls fail. If
// callers authenticate it requires a scope, by its name of who may not name all sets: a tenant whose
// token has "*" would see how much the others do. Otherwise it serves only this machine, and no
// pages of a browser.
func (s *Site) metrics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.parts.Known {
			host, _, err := net.SplitHostPort(r.Host)
			if err != nil {
				host = r.Host
			}
			from, _, err := net.SplitHostPort(r.RemoteAddr)
			if err != nil || !IsLocal(from) || !IsLocal(host) || r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" {
				s.parts.REST.Reject(w, r, fault.New(fault.Forbidden, "only programs on this machine may read this").WithHint("Read it from this machine, or set server.tokensFile and give a token the scope %s.", metricsScope))
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		p, f := s.parts.MCP.Admission().Admit(w, r)
		switch {
		case f != nil:
		case !p.Has(metricsScope):
			f = fault.Newf(fault.Forbidden, "the scope %q is missing", metricsScope)
		case !slices.Contains(p.Scopes, metricsScope) && !slices.Contains(p.Sets, auth.All):
			f = fault.Newf(fault.Forbidden, "the metrics count the calls of all sets, and you may not name all of them").
				WithHint("Give the token the scope %s by its name.", metricsScope)
		}
		if f != nil {
			s.parts.REST.Reject(w, r, f)
			return
		}
		next.ServeHTTP(w, r)
	})
}
