package wire

import (
	"fmt"
	"strings"
)

// LogBudget keeps a job's logs within their limits. The worker uses it to avoid sending entries
// that would be dropped, and the host to enforce the limits.
type LogBudget struct {
	MaxEntries int
	MaxBytes   int // of all messages together
	MaxMessage int // of one message; 0 means MaxBytes

	entries, bytes int
	full           bool
}

// Full reports whether all further entries are dropped.
func (b *LogBudget) Full() bool { return b.full }

// Admit returns the entries to keep for l. The first entry that exceeds a limit is truncated and
// followed by a marker that says that the rest is missing, or replaced by the marker. After it
// Admit returns nothing.
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

// cut truncates a message to its limit, including the note that says so.
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
