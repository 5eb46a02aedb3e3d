package outline

import (
	"strconv"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// How much the lines of actions may say, in bytes.
const (
	maxActionLines = 3000 // all of them (CONTRACT section 2)
	maxActionWords = 80   // what an action does
)

// Actions returns a line for each action that callers could have as a tool and that no list of tools of the View has
// (language.Outline).
func (s Style) Actions(v *catalog.View) string {
	text := s.listActions(v, true)
	if len(text) > maxActionLines {
		text = s.listActions(v, false)
	}
	return text
}

// listActions returns the lines, with words about each or as many as there is room for.
func (s Style) listActions(v *catalog.View, words bool) string {
	listed := map[catalog.ID]bool{}
	for _, op := range v.Tools() {
		listed[op.ID] = true
	}
	var lines []string
	for _, d := range bind.Bind(v).Domains {
		for _, f := range d.Functions {
			id, err := catalog.ParseID(f.ID)
			if err != nil || id.Kind != catalog.KindAction || listed[id] || !v.Listed(id) {
				continue
			}
			lines = append(lines, s.actionLine(f.Name, v.Operation(id), words))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	out := "SDK.Actions, each kept whole or not at all:\n"
	if words {
		return out + strings.Join(lines, "")
	}
	for i, line := range lines {
		left := ""
		if more := len(lines) - i - 1; more > 0 {
			left = moreActions(more)
		}
		if len(out)+len(line)+len(left) > maxActionLines {
			return out + moreActions(len(lines)-i)
		}
		out += line
	}
	return out
}

func (s Style) actionLine(name string, op *catalog.Operation, words bool) string {
	line := "- " + s.Signature(name, op)
	if words {
		line += " " + s.Comment + " " + firstWords(Plain(op.Summary))
	}
	return line + "\n"
}

func moreActions(n int) string {
	return "- … and " + strconv.Itoa(n) + " more: koan.code.search declares them\n"
}

// firstWords returns the first sentence of a text, or as much of it as a line has room for.
func firstWords(text string) string {
	text, _, _ = strings.Cut(text, ". ")
	text = strings.TrimSuffix(text, ".")
	if len(text) <= maxActionWords {
		return text
	}
	end := strings.LastIndexByte(text[:maxActionWords], ' ')
	if end < 0 { // a language without spaces
		return fault.Clip(text, maxActionWords)
	}
	return strings.TrimRight(text[:end], " ,;:") + " …"
}
