package wire

import (
	"fmt"
	"strings"
)

// LogBudget keeps a job's logs within their limits. The worker holds back with it
// what would not be shown; the host does not take the worker's word for it.
type LogBudget struct {
	MaxEntries int
	MaxBytes   int // of all messages together
	MaxMessage int // of one message; 0 is MaxBytes

	entries, bytes int
	full           bool
}

// Full reports whether nothing more is admitted.
func (b *LogBudget) Full() bool { return b.full }

// Admit returns what may be sent for an entry: the entry, then perhaps a marker
// that says that the rest is missing, or nothing. The first entry that passes a
// limit is cut, or replaced by the marker.
func (b *LogBudget) Admit(l Log) []Log {
	if b.full {
		return nil
	}
	if b.entries >= b.MaxEntries {
		b.full = true
		return []Log{b.marker(l)}
	}
	b.entries++
	l.Message = b.cut(l.Message)
	if left := b.MaxBytes - b.bytes; len(l.Message) > left {
		b.full = true
		cut := l
		cut.Message = strings.ToValidUTF8(l.Message[:left], "")
		if cut.Message == "" {
			return []Log{b.marker(l)}
		}
		return []Log{cut, b.marker(l)}
	}
	b.bytes += len(l.Message)
	return []Log{l}
}

// cut keeps one message within its limit, the mark that says so included.
func (b *LogBudget) cut(message string) string {
	if b.MaxMessage == 0 || len(message) <= b.MaxMessage {
		return message
	}
	mark := fmt.Sprintf("… (cut at %d bytes: codeMode.maxLogMessageBytes)", b.MaxMessage)
	if len(mark) > b.MaxMessage {
		mark = "…"
	}
	return strings.ToValidUTF8(message[:max(b.MaxMessage-len(mark), 0)], "") + mark
}

func (b *LogBudget) marker(l Log) Log {
	return Log{Level: "warn", TimeMs: l.TimeMs, Message: fmt.Sprintf(
		"the rest of the logs is left out: at most %d entries and %d bytes are kept (codeMode.maxLogEntries, codeMode.maxLogBytes)", b.MaxEntries, b.MaxBytes)}
}
