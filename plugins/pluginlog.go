package plugins

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/plugins/internal/plain"
)

// Bounds of a plugin's output in the log: a burst, and a rate after it. What exceeds them
// is dropped and counted.
const (
	burstLines   = 500
	burstBytes   = 256 << 10
	linesPerSec  = 20
	bytesPerSec  = 16 << 10
	reportsEvery = 5 * time.Second
)

// Bounds of one line of a plugin's output in the log, in bytes. A longer one is several.
const (
	maxLine  = 8 << 10
	maxEntry = 64 << 10 // of its log: it may have a stack
)

// pluginLog writes everything that a process of a plugin prints to the log.
type pluginLog struct {
	log *slog.Logger

	mu      sync.Mutex
	lines   float64 // that may be written now
	bytes   float64
	at      time.Time
	dropped int // and not reported yet
	report  *time.Timer
	last    string // line of its standard error, or the panic that it ended with
}

func newPluginLog(log *slog.Logger) *pluginLog {
	return &pluginLog{log: log, lines: burstLines, bytes: burstBytes, at: time.Now()}
}

// admit reports whether the log takes a line of n bytes.
func (o *pluginLog) admit(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	since := now.Sub(o.at).Seconds()
	o.at = now
	o.lines, o.bytes = min(o.lines+since*linesPerSec, burstLines), min(o.bytes+since*bytesPerSec, burstBytes)
	if o.lines >= 1 && o.bytes >= float64(n) {
		o.lines, o.bytes = o.lines-1, o.bytes-float64(n)
		return true
	}
	if o.dropped++; o.report == nil {
		o.report = time.AfterFunc(reportsEvery, o.reportDropped)
	}
	return false
}

// reportDropped logs how many lines were dropped.
func (o *pluginLog) reportDropped() {
	o.mu.Lock()
	n := o.dropped
	o.dropped, o.report = 0, nil
	o.mu.Unlock()
	if n > 0 {
		o.log.Warn(fmt.Sprintf("the plugin logs too much: %d lines dropped", n))
	}
}

// close logs lines that were dropped since the last report.
func (o *pluginLog) close() {
	o.mu.Lock()
	if o.report != nil {
		o.report.Stop()
	}
	o.mu.Unlock()
	o.reportDropped()
}

// write logs a line of a stream.
func (o *pluginLog) write(level slog.Level, line []byte, stream string) {
	if line = bytes.TrimRight(line, "\r\n"); o.admit(len(line)) {
		o.log.Log(context.Background(), level, string(line), "stream", stream)
	}
}

// stream is a writer that logs lines.
func (o *pluginLog) stream(name string) io.Writer { return &lines{to: o, name: name} }

// lines logs what a plugin prints, line by line.
type lines struct {
	to   *pluginLog
	name string
	mu   sync.Mutex
	rest []byte
}

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
		l.to.write(slog.LevelInfo, l.rest[:end], l.name)
		l.rest = bytes.TrimPrefix(l.rest[end:], []byte("\n"))
	}
}

// lastWords returns what the process wrote last to its standard error, "" for nothing: the
// panic that it ended with, or the last line.
func (o *pluginLog) lastWords() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *pluginLog) remember(line string) {
	const most = 500
	if line = bounded(plain.Line(line), most); line == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !strings.HasPrefix(o.last, "panic: ") {
		o.last = line
	}
}

// readStderr reads the standard error of the process to its end: the plugin's log, as the kit
// writes it, and any other text.
func (o *pluginLog) readStderr(from io.Reader) {
	in, level := bufio.NewReaderSize(from, maxEntry), slog.LevelInfo
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case len(line) == 0:
		case o.entry(line):
		default:
			o.remember(string(line))
			if bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
				level = slog.LevelError // and all that follows: the process ends with it
			}
			for part := range slices.Chunk(line, maxLine) {
				o.write(level, part, "stderr")
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// entry writes an entry of the plugin's log, and reports whether the line is one.
func (o *pluginLog) entry(line []byte) bool {
	if line[0] != '{' {
		return false
	}
	var entry map[string]any
	if json.Unmarshal(line, &entry) != nil {
		return false
	}
	message, ok := entry["@message"].(string)
	if !ok {
		return false
	}
	if !o.admit(len(line)) {
		return true
	}
	o.remember(message)
	level := slog.LevelInfo
	if name, ok := entry["@level"].(string); ok {
		_ = level.UnmarshalText([]byte(name)) // an unknown one leaves it at info
	}
	var attrs []any
	for _, key := range slices.Sorted(maps.Keys(entry)) {
		if !strings.HasPrefix(key, "@") {
			attrs = append(attrs, slog.Any(key, entry[key]))
		}
	}
	o.log.Log(context.Background(), level, message, attrs...)
	return true
}

// handshake returns a reader of the first line of from. All other lines are read and
// logged, since a process that writes into a pipe which nobody reads would block.
func (o *pluginLog) handshake(from io.ReadCloser) io.ReadCloser {
	return &handshake{Closer: from, from: bufio.NewReaderSize(from, maxLine), to: o}
}

type handshake struct {
	io.Closer
	from *bufio.Reader
	to   *pluginLog
	rest []byte // of the first line
	over bool   // it has been read
}

func (h *handshake) Read(p []byte) (int, error) {
	for len(h.rest) == 0 {
		line, err := h.from.ReadSlice('\n')
		if len(line) > 0 && h.over {
			h.to.write(slog.LevelInfo, line, "stdout")
		} else if len(line) > 0 {
			h.rest, h.over = append(h.rest, line...), bytes.HasSuffix(line, []byte("\n"))
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		}
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}
