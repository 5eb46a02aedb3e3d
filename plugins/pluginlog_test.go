package plugins

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func written(stderr string) string {
	var log syncBuffer
	o := newPluginLog(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	o.readStderr(strings.NewReader(stderr))
	o.close()
	return log.String()
}

// TestPluginLog: entries keep level and values, and what is none is a text.
func TestPluginLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"entry":             {`{"@timestamp":"2026-01-02T03:04:05.678Z","@level":"warn","@message":"low","left":3}`, `level=WARN msg=low left=3`},
		"error":             {`{"@level":"error","@message":"no"}`, `level=ERROR msg=no`},
		"unknown level":     {`{"@level":"loud","@message":"no"}`, `level=INFO msg=no`},
		"no level":          {`{"@message":"no"}`, `level=INFO msg=no`},
		"text":              {`hello`, `level=INFO msg=hello stream=stderr`},
		"other JSON":        {`{"message":"no"}`, `stream=stderr`},
		"wrong message":     {`{"@message":5}`, `stream=stderr`},
		"wrong timestamp":   {`{"@message":"odd","@timestamp":5}`, `level=INFO msg=odd`},
		"broken":            {`{"@message":"od`, `stream=stderr`},
		"panic":             {"panic: at the disco\n\ngoroutine 1 [running]:", `level=ERROR msg="goroutine 1 [running]:" stream=stderr`},
		"more than one":     {"one\r\ntwo", `msg=two`},
		"longer than lines": {strings.Repeat("x", 3*maxLine), `stream=stderr`},
	} {
		t.Run(name, func(t *testing.T) { require.Contains(t, written(c.line), c.want) })
	}
}

func TestHandshakeIsTheFirstLine(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	o := newPluginLog(slog.New(slog.NewTextHandler(&log, nil)))
	first := "1|1|unix|" + strings.Repeat("p", 2*maxLine) + "\n"
	raw, err := io.ReadAll(o.handshake(io.NopCloser(strings.NewReader(first + "printed\n" + strings.Repeat("l", 100<<10) + "\nlast"))))
	require.NoError(t, err)
	require.Equal(t, first, string(raw))
	require.Contains(t, log.String(), "msg=printed stream=stdout")
	require.Contains(t, log.String(), "msg=last stream=stdout")
}

// FuzzPluginLog: whatever a plugin writes there, the app goes on, and the log has no
// more of it than it takes.
func FuzzPluginLog(f *testing.F) {
	for _, line := range []string{`{"@message":5}`, `{"@level":[],"@message":"x"}`, "panic: x", strings.Repeat("x\n", 2*burstLines), "{}", "\x00\xff\n{"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, stderr string) {
		require.LessOrEqual(t, strings.Count(written(stderr), "\n"), burstLines+linesPerSec+1)
	})
}
