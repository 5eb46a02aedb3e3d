package mcpserver

import (
	"time"

	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/internal/admission"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// Live are the options of a server that may change while it runs.
type Live struct {
	Exposure exposure.Mode // of the server; "" is auto
	// ExposureIsAuto says that the mode was left to negotiation, so that package
	// defaults count for their entities. Exposure auto implies it.
	ExposureIsAuto bool
	Tools          toolset.Options // how lists show tools
	QueueMax       int             // calls in flight per session; 0 is 64
	ToolTimeout    time.Duration   // of one tool call without its own; 0 is 120 s
}

// now returns the settings for a request that begins now.
func (s *Server) now() *Live { return s.live.Load() }

// Adjust changes the settings for later requests; running ones keep theirs. Open clients
// are notified if lists change. If it returns an error, which is one of New's, nothing
// has changed.
func (s *Server) Adjust(l Live) error {
	o := s.opts
	o.Live = l
	if err := o.check(); err != nil {
		return err
	}
	o.fill()
	next := o.Live
	last := s.live.Swap(&next)
	if last.Exposure != next.Exposure || last.ExposureIsAuto != next.ExposureIsAuto || last.Tools != next.Tools {
		s.CatalogChanged()
	}
	return nil
}

// HTTPLive are the options of the transport that may change while it serves; see
// HTTPOptions.
type HTTPLive struct {
	AllowedHosts      []string
	AllowedOrigins    []string
	SessionIdle       time.Duration
	MaxSessions       int
	RequestsPerMinute int
}

func (h *HTTP) now() *HTTPLive { return h.live.Load() }

// Adjust changes the settings for later requests. Open sessions stay open.
func (h *HTTP) Adjust(l HTTPLive) {
	h.admission.Adjust(admission.Live{AllowedHosts: l.AllowedHosts, AllowedOrigins: l.AllowedOrigins, RequestsPerMinute: l.RequestsPerMinute})
	if l.SessionIdle == 0 {
		l.SessionIdle = 30 * time.Minute
	}
	if l.MaxSessions == 0 {
		l.MaxSessions = 1000
	}
	h.live.Store(&l)
}
