package plugins

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// logger makes go-plugin write to the app's log, without its lines about every message.
func logger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Info})
	l.RegisterSink(sink{to})
	return l
}

// sink forwards what hclog would write.
type sink struct{ to *slog.Logger }

var _ hclog.SinkAdapter = sink{}

// Accept forwards one entry.
func (s sink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	var attrs []any
	for i := 0; i+1 < len(args); i += 2 {
		if key, ok := args[i].(string); ok && key != "timestamp" { // slog has its own
			attrs = append(attrs, slog.Any(key, args[i+1]))
		}
	}
	to := slog.LevelDebug
	switch level {
	case hclog.Info:
		to = slog.LevelInfo
	case hclog.Warn:
		to = slog.LevelWarn
	case hclog.Error:
		to = slog.LevelError
	case hclog.Trace, hclog.Debug, hclog.NoLevel, hclog.Off:
	}
	s.to.Log(context.Background(), to, msg, attrs...)
}
