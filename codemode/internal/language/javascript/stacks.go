package javascript

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/framework/fault"
)

// engineFrame is the prefix of a line of the engine's stacks:
// "\tat NAME (script:LINE:COLUMN(PC))", or without a name "\tat script:LINE:COLUMN(PC)". The
// position may be "native".
const engineFrame = "\tat "

// rewriteStack rewrites the stack of an Error that the script is about to read: with positions
// in the user's text, without frames of the host or of code that the compiler added, and no
// longer than maxStackFrames (CONTRACT section 2).
func (s *session) rewriteStack(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return
	}
	written, ok := s.safeGet(o, "stack").(goja.String)
	if !ok {
		return // the script has set it
	}
	text := written.String()
	at := strings.Index(text, "\n"+engineFrame)
	if at < 0 {
		if at = len(text) - 1; at < 0 || text[at] != '\n' {
			return
		}
	}
	lines := s.userLines(text[at+1:])
	if f := s.faults[o]; len(lines) == 0 && f != nil && f.Line > 0 { // the call ended when no line of the script was on the stack
		lines = []string{fmt.Sprintf("%s:%d:%d", script.Name, f.Line, f.Column)}
	}
	var b strings.Builder
	b.WriteString(text[:at])
	left := 0
	for n, line := range lines {
		if n >= s.job.Limits.MaxStackFrames {
			left++
			continue
		}
		b.WriteString("\n    at " + line)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n    … %d more", left)
	}
	// This fails for a frozen Error, which keeps its stack.
	_ = o.DefineDataProperty("stack", s.vm.ToValue(b.String()), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// userLines returns the frames in the engine's text that are the script's, with the user's
// positions.
func (s *session) userLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		frame, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), engineFrame)
		if !ok {
			continue
		}
		name, place := "", frame
		if i := strings.LastIndex(frame, " ("); i >= 0 {
			name, place = frame[:i], frame[i+2:]
		}
		line, column, ok := parsePosition(place)
		if !ok {
			continue
		}
		if line, column, ok = s.program.Position(line, column); !ok {
			continue
		}
		position := fmt.Sprintf("%s:%d:%d", script.Name, line, column)
		if name != "" {
			position = fault.Clip(name, 100) + " (" + position + ")"
		}
		out = append(out, position)
	}
	return out
}

// parsePosition parses "script:LINE:COLUMN(PC)"; ok is false for any other text.
func parsePosition(place string) (line, column int, ok bool) {
	place, ok = strings.CutPrefix(place, script.Name+":")
	if !ok {
		return 0, 0, false
	}
	place, _, _ = strings.Cut(place, "(")
	l, c, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(l)
	if err != nil {
		return 0, 0, false
	}
	column, err = strconv.Atoi(c)
	return line, column, err == nil
}
