package worker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/script"
	"github.com/koan-go/koan/framework/fault"
)

// engineFrame begins a line of a stack as the engine writes it:
// "\tat NAME (script:LINE:COLUMN(PC))", the name and its brackets only where there is
// one, or "native" in place of the position.
const engineFrame = "\tat "

// restack replaces the stack of an Error that the script is about to read by the one that
// belongs to the text that the user sent: without frames of the host and of what the
// compiler added, and no longer than a failure tells it (CONTRACT section 2).
func (s *session) restack(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return
	}
	written, ok := s.ask(o, "stack").(goja.String)
	if !ok {
		return // the script's own
	}
	text := written.String()
	at := strings.Index(text, "\n"+engineFrame)
	if at < 0 {
		if at = len(text) - 1; at < 0 || text[at] != '\n' {
			return
		}
	}
	lines := s.userLines(text[at+1:])
	if f := s.faults[o]; len(lines) == 0 && f != nil && f.Line > 0 { // it ended later than the script went on
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
	// A frozen one keeps what it has.
	_ = o.DefineDataProperty("stack", s.vm.ToValue(b.String()), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// userLines returns the frames of the engine's text that are the script's, with the
// user's positions.
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
		line, column, ok := enginePlace(place)
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

// enginePlace reads "script:LINE:COLUMN(PC)"; ok is false for another text than the
// script's.
func enginePlace(place string) (line, column int, ok bool) {
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
