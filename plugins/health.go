package plugins

import (
	"context"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// beats is how many times a process is asked within Options.SilentAfter, and missing so many
// answers in a row makes it silent. A machine that is short of time asks less often, too.
const (
	beats        = 10
	missedUnwell = 3 // answers, after which a process is not ready
)

// watchHealth asks a process again and again how it is, and discards it when it has answered
// nothing for long: neither that nor a call.
func (p *process) watchHealth(silentAfter time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	beat := time.NewTicker(silentAfter / beats)
	defer beat.Stop()
	asking := make(chan struct{}, 1) // one at a time
	for {
		select {
		case <-p.gone:
			return
		case <-beat.C:
		}
		if p.heard.Swap(false) {
			p.missed.Store(0)
		} else if p.missed.Add(1) >= beats {
			p.hung.Store(true)
			p.discard()
			return
		}
		select {
		case asking <- struct{}{}:
			go func() {
				defer func() { <-asking }()
				if p.answers(ctx) {
					p.heard.Store(true)
				}
			}()
		default:
		}
	}
}

// unwell reports whether a process has not answered for a while.
func (p *process) unwell() bool { return p.missed.Load() >= missedUnwell }

// answers reports whether the process answers a question about its health, whatever it says.
func (p *process) answers(ctx context.Context) bool {
	_, err := grpc_health_v1.NewHealthClient(p.conn.Conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return false
	}
	return true // even if it has no such service
}

// livesTime is how long a process may take to say that it is alive, after a call that ended as if it
// were not.
const livesTime = 2 * time.Second

// lives reports whether a process is alive.
func (p *process) lives() bool {
	select {
	case <-p.gone:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), livesTime)
	defer cancel()
	return p.answers(ctx) && !p.child.hasExited()
}
