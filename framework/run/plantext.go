package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what a person is shown, in rows, lines and characters.
const (
	shownRows    = 12
	shownFields  = 8
	shownDiffers = 10
	shownValue   = 60
	shownInput   = 600
	shownText    = 6000
)

// Text is what a person reads before deciding: what is asked for, how many rows
// change, the first of them with before and after, and calls outside. Values are
// quoted, so that none of them can pass for a line of this text, and go through
// redact before they are shortened: half a secret is one that no pattern knows.
func (p *Plan) Text(redact func(string) string) string {
	b := planText{redact: redact}
	switch {
	case p.Call != nil:
		effect := p.Call.effect()
		if effect != "" {
			effect += " that cannot be undone"
		}
		fmt.Fprintf(&b.Builder, "%s (for %s) wants to call %s%s:\n  %s\n", p.Request.Tool, plain(p.subject()), p.Call.Tool, effect, b.input(p.Call.Input))
	default:
		fmt.Fprintf(&b.Builder, "%s (for %s) wants to keep what it did:\n", p.Request.Tool, plain(p.subject()))
	}
	if len(p.Differs) > 0 {
		b.WriteString("\nThis is not what was agreed to before; the data has changed since:\n")
		for i, d := range p.Differs {
			if i == shownDiffers {
				fmt.Fprintf(&b.Builder, "  … and %d more differences\n", len(p.Differs)-i)
				break
			}
			fmt.Fprintf(&b.Builder, "  %s\n", redact(d))
		}
	}
	p.writeRows(&b)
	p.writeMade(&b)
	return clipped(redact(b.String()), shownText)
}

// planText is the text while it is written.
type planText struct {
	strings.Builder
	redact func(string) string
}

// Summary says in a few words what the plan asks for.
func (p *Plan) Summary() string {
	var parts []string
	for _, c := range p.Counts() {
		parts = append(parts, c.Entity+": "+counted(c))
	}
	if p.Call != nil {
		parts = append(parts, "call of "+p.Call.Tool)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return clipped(strings.Join(parts, "; "), 2*shownValue)
}

func (p *Plan) subject() string { return or(p.Request.Principal.Subject, "nobody in particular") }

// writeMade lists what has left the house, which no answer takes back.
func (p *Plan) writeMade(b *planText) {
	if len(p.Agreed) > 0 {
		b.WriteString("\nAgreed to and made already:\n")
		for _, c := range p.Agreed {
			fmt.Fprintf(&b.Builder, "  %s %s\n", c.Tool, b.input(c.Input))
		}
	}
	switch other := len(p.Made) - len(p.Agreed); {
	case other == 1:
		b.WriteString("\n1 call outside needed no agreement and was made already.\n")
	case other > 1:
		fmt.Fprintf(&b.Builder, "\n%d calls outside needed no agreement and were made already.\n", other)
	}
}

func (p *Plan) writeRows(b *planText) {
	counts := p.Counts()
	switch {
	case len(counts) == 0 && p.Call != nil:
		b.WriteString("\nNo data has been changed so far.\n")
		return
	case len(counts) == 0:
		b.WriteString("\nIt changes no data.\n")
		return
	case p.Call != nil:
		b.WriteString("\nChanged so far, and not kept yet:\n")
	default:
		b.WriteString("\n")
	}
	b.writeCounts(counts)
	b.WriteString("\n")
	for i, c := range p.Changes {
		if i == shownRows {
			fmt.Fprintf(&b.Builder, "… and %d more rows\n", len(p.Changes)-i)
			break
		}
		fmt.Fprintf(&b.Builder, "%s %s %s\n", c.Action, c.Entity, or(b.id(c.ID), "(a row that the caller does not see)"))
		b.writeFields(c)
	}
}

// writeCounts is a table of how many rows of what are made, changed and removed.
func (b *planText) writeCounts(counts []ChangeCount) {
	table := [][]string{{"entity", "set", "created", "updated", "deleted"}}
	for _, c := range counts {
		table = append(table, []string{c.Entity, plain(clipped(c.Set, shownValue)), strconv.Itoa(c.Created), strconv.Itoa(c.Updated), strconv.Itoa(c.Deleted)})
	}
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range table {
		for i, cell := range line {
			if pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)); i < 2 { // names
				b.WriteString("  " + cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteString("\n")
	}
}

func counted(c ChangeCount) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{c.Created, "created"}, {c.Updated, "updated"}, {c.Deleted, "deleted"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return strings.Join(parts, ", ")
}

// writeFields shows what changed in a row: all that it has where it comes or goes.
func (b *planText) writeFields(c Change) {
	var before, after map[string]json.RawMessage
	_ = json.Unmarshal(c.Before, &before) // of our own making; nil where it is absent
	_ = json.Unmarshal(c.After, &after)
	names, width := []string{}, 0
	all := maps.Clone(before)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if bytes.Equal(before[name], after[name]) || string(all[name]) == "null" && c.Action != Update || name == "id" {
			continue
		}
		names = append(names, name)
	}
	for i, name := range names {
		if i == shownFields {
			names = names[:i:i]
			break
		}
		width = max(width, len(name))
	}
	for _, name := range names {
		switch c.Action {
		case Create:
			fmt.Fprintf(&b.Builder, "    %-*s  %s\n", width, name, b.value(after[name]))
		case Delete:
			fmt.Fprintf(&b.Builder, "    %-*s  %s\n", width, name, b.value(before[name]))
		case Update:
			fmt.Fprintf(&b.Builder, "    %-*s  %s -> %s\n", width, name, b.value(before[name]), b.value(after[name]))
		}
	}
	if more := len(all) - len(names); len(names) == shownFields && more > 0 {
		b.WriteString("    …\n")
	}
}

// value is one value for reading: short, on one line, and with nothing in it that a
// terminal or a dialog would act on.
func (b *planText) value(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "none"
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strconv.Quote(clipped(b.redact(text), shownValue))
	}
	return plain(clipped(b.redact(string(raw)), shownValue))
}

// input is a call's input for reading.
func (b *planText) input(raw json.RawMessage) string {
	var short bytes.Buffer
	if json.Compact(&short, raw) != nil {
		return "{}"
	}
	return plain(clipped(b.redact(short.String()), shownInput))
}

// plain takes out of a text what is not printable.
func plain(s string) string {
	quoted := strconv.Quote(s)
	if quoted == `"`+s+`"` {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}

func (b *planText) id(id string) string { return plain(clipped(b.redact(id), shownValue)) }

func clipped(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
