package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/config"
)

// pollInterval is how often the files of the configuration are checked. A check is one
// stat per file, and works for every file system and for replaced links, as Kubernetes
// has them.
const pollInterval = time.Second

// watchConfig makes the app read its configuration again on SIGHUP or when one of its
// files has changed, and look anew at what other programs keep on SIGHUP. Problems are
// logged, one per line, and what was in effect stays so. The returned function ends it.
func (c *server) watchConfig(ctx context.Context, i Instance) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	last := c.files(i.Values()) // before the app is known to serve, since files may be changed from then on
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		look := time.NewTicker(pollInterval)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				last = c.files(i.Values())
				c.reload(ctx, i)
				c.refresh(ctx, i)
			case <-look.C:
				if now := c.files(i.Values()); !slices.EqualFunc(now, last, same) {
					last = now
					c.reload(ctx, i)
				}
			}
		}
	}()
	return func() {
		signal.Stop(hup)
		cancel()
		<-ended
	}
}

func (c *server) reload(ctx context.Context, i Instance) {
	err := i.Reload(ctx)
	if err == nil {
		return
	}
	var several config.Problems
	if !errors.As(err, &several) {
		several = config.Problems{err.Error()}
	}
	for _, p := range several {
		i.Log().Error("the configuration was rejected; the old one stays in effect", "problem", p)
	}
}

func (c *server) refresh(ctx context.Context, i Instance) {
	if err := i.Refresh(ctx); err != nil {
		i.Log().Error("what is served could not be looked at anew; it stays as it was", "problem", err, "hint", fault.From(err).Hint)
	}
}

// files returns the state of the configuration's files, nil for one that does not exist.
func (c *server) files(v catalog.Values) []os.FileInfo {
	var out []os.FileInfo
	for _, name := range []string{c.source(nil).File, v.String("server.tokensFile"), v.String("server.tlsCert"), v.String("server.tlsKey")} {
		info, err := os.Stat(name)
		if err != nil {
			info = nil
		}
		out = append(out, info)
	}
	return out
}

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
