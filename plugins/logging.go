package plugins

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// logger lets go-plugin, and the plugin through it, write to the app's log.
func logger(to *slog.Logger) hclog.Logger {
	// Not Off: go-plugin reads no lines for a logger that is. The app's own level
	// decides.
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Trace})
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

// lines logs what a plugin prints, line by line.
type lines struct {
	log  hclog.Logger
	name string
	mu   sync.Mutex
	rest []byte
}

// maxLine bounds one line of a plugin's output in the log, in bytes.
const maxLine = 8 << 10

func newLines(log hclog.Logger, name string) io.Writer { return &lines{log: log, name: name} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 && len(l.rest) < maxLine {
			return len(p), nil
		}
		if end < 0 || end > maxLine {
			end = maxLine
		}
		l.log.Info(string(bytes.TrimRight(l.rest[:end], "\r")), "stream", l.name)
		l.rest = bytes.TrimPrefix(l.rest[end:], []byte("\n"))
	}
}
