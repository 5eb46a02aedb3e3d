package mcpserver

import (
	"time"

	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// Live is what of a server's options may change while it runs. What each means
// stands at Options.
type Live struct {
	Exposure       exposure.Mode
	ExposureIsAuto bool
	Tools          toolset.Options
	QueueMax       int
	ToolTimeout    time.Duration
}

// now is what holds for a request that begins now.
func (s *Server) now() *Live { return s.live.Load() }

// Adjust changes what requests from here on meet; those that run keep what they
// began with. A change of what lists show is told to open clients. The error is
// that of New, and nothing has changed then.
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

// HTTPLive is what of a transport's options may change while it serves. What each
// means stands at HTTPOptions.
type HTTPLive struct {
	AllowedHosts      []string
	AllowedOrigins    []string
	SessionIdle       time.Duration
	MaxSessions       int
	RequestsPerMinute int
}

func (h *HTTP) now() *HTTPLive { return h.live.Load() }

// Adjust changes what requests from here on meet. Sessions that are open stay.
func (h *HTTP) Adjust(l HTTPLive) {
	if l.SessionIdle == 0 {
		l.SessionIdle = 30 * time.Minute
	}
	if l.MaxSessions == 0 {
		l.MaxSessions = 1000
	}
	h.live.Store(&l)
}
