package mcpserver

import (
	"time"

	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/internal/admission"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// Live are the options of a server that may change while it runs; see Options.
type Live struct {
	Exposure       exposure.Mode
	ExposureIsAuto bool
	Tools          toolset.Options
	QueueMax       int
	ToolTimeout    time.Duration
}

// now returns the settings for a request that begins now.
func (s *Server) now() *Live { return s.live.Load() }

// Adjust changes the settings for later requests; running ones keep theirs. Open clients
// are notified if lists change. If it returns an error, which is one of New's, nothing
// has changed.
func (s *Server) Adjust(l Live) error {
	o := s.opts
	o.Exposure, o.ExposureIsAuto, o.Tools, o.QueueMax, o.ToolTimeout = l.Exposure, l.ExposureIsAuto, l.Tools, l.QueueMax, l.ToolTimeout
	if err := o.check(); err != nil {
		return err
	}
	o.fill()
	next := Live{Exposure: o.Exposure, ExposureIsAuto: o.ExposureIsAuto, Tools: o.Tools, QueueMax: o.QueueMax, ToolTimeout: o.ToolTimeout}
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
