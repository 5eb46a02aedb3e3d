package observe

import "strings"

// TraceContext is W3C's: the headers traceparent and tracestate. It is kept as it
// came, valid or not.
type TraceContext struct{ Parent, State string }

// maxTraceState bounds what is passed on, in bytes (W3C Trace Context section 3.3.1.5).
const maxTraceState = 512

// ID returns the trace's id, "" where the context is not valid.
func (t TraceContext) ID() string {
	if t.Parent == "" {
		return ""
	}
	parts := strings.Split(t.Parent, "-")
	if len(parts) < 4 || !hexadecimal(parts[0], 2) || parts[0] == "ff" || !hexadecimal(parts[1], 32) || !hexadecimal(parts[2], 16) || !hexadecimal(parts[3], 2) ||
		parts[0] == "00" && len(parts) > 4 || strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return ""
	}
	return parts[1]
}

func hexadecimal(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

// Bounded leaves out what is not valid, and a state that nobody has to pass on.
func (t TraceContext) Bounded() TraceContext {
	if t.ID() == "" {
		return TraceContext{}
	}
	if len(t.State) > maxTraceState {
		t.State = ""
	}
	return t
}
