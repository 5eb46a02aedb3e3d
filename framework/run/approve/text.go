package approve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/run/store"
)

// textBounds are how much of a plan a text shows, in rows, lines and characters.
// How many rows of which kind are deleted, changed and created, and which calls left
// the house, is always said whole.
type textBounds struct {
	rows, fields, tableLines, calls, differs int
	value, input                             int
	text                                     int // no row begins beyond it
}

var (
	// dialogBounds fit a client's dialog and a model's context.
	dialogBounds = textBounds{rows: 12, fields: 8, tableLines: 20, calls: 3, differs: 10, value: 60, input: 600, text: 4500}
	// terminalBounds are for a person who can scroll.
	terminalBounds = textBounds{rows: 100_000, fields: 1000, tableLines: 10_000, calls: 10_000, differs: 10_000, value: 500, input: 20_000, text: 64 << 20}
)

// Text is what a person reads before deciding, short enough for a dialog: what is
// asked for, what is destroyed and what leaves the house, how many rows change, the
// first of them with before and after. Values are quoted, so that none of them can
// pass for a line of this text, and go through redact before they are shortened:
// half a secret is one that no pattern knows.
func (p *Plan) Text(redact func(string) string) string { return p.text(redact, dialogBounds) }

// CallerText is Text for the run's caller: without what an action with the app's rights passes on.
func (p *Plan) CallerText(redact func(string) string) string { return p.forCaller().Text(redact) }

// forCaller returns the plan as the run's caller may see it.
func (p *Plan) forCaller() *Plan {
	own := *p
	if p.Call != nil {
		call := p.Call.forCaller()
		own.Call = &call
	}
	own.Agreed = make([]PlannedCall, len(p.Agreed))
	for i, c := range p.Agreed {
		own.Agreed[i] = c.forCaller()
	}
	return &own
}

// forCaller returns the call as the run's caller may see it.
func (c PlannedCall) forCaller() PlannedCall {
	if c.App {
		c.Input, c.Carries = json.RawMessage(`{}`), nil
	}
	return c
}

// WholeText is Text with every row.
func (p *Plan) WholeText(redact func(string) string) string { return p.text(redact, terminalBounds) }

func (p *Plan) text(redact func(string) string, bounds textBounds) string {
	t := planText{redact: redact, bounds: bounds}
	p.writeRequest(&t)
	t.WriteString("\n")
	changes := store.Named(p.Changes)
	counts := p.counts(store.HiddenEntity)
	p.writeEffect(&t, counts)
	p.writeCalls(&t)
	p.writeDifferences(&t)
	t.writeCounts(p, counts)
	if len(p.withheld) > 0 {
		t.printf("Withheld from you, whose rights do not cover it: values of %s (%s).\n\n", quantity(p.withheld.total(), "row"), p.withheld)
	}
	if p.Sampled() {
		t.printf("These are too many to keep each of them: below is a sample of %d of %d. A yes is for all. They are made and compared again when the plan is applied, and if one differs, nothing is committed.\n\n", len(changes), rows(counts))
	}
	t.writeRows(changes, counts)
	return redact(t.String())
}

// writeEffect is a sentence about what the plan does to rows: which it deletes, or else that it deletes none,
// and what it does.
func (p *Plan) writeEffect(t *planText, counts []store.ChangeCount) {
	if deleted := countKinds(counts, func(c store.ChangeCount) int { return c.Deleted }); len(deleted) > 0 {
		t.printf("Deletes %s: %s.\n", quantity(deleted.total(), "row"), deleted)
		return
	}
	if p.Call != nil || len(counts) == 0 {
		return
	}
	var parts []string
	if updated := countKinds(counts, func(c store.ChangeCount) int { return c.Updated }); len(updated) > 0 {
		parts = append(parts, fmt.Sprintf("updates %s: %s", quantity(updated.total(), "row"), updated))
	}
	if created := countKinds(counts, func(c store.ChangeCount) int { return c.Created }); len(created) > 0 {
		parts = append(parts, fmt.Sprintf("creates %s: %s", quantity(created.total(), "row"), created))
	}
	t.printf("Deletes nothing; %s.\n", strings.Join(parts, "; "))
}

// Summary says in a few words what the plan asks for: deletions and calls first.
func (p *Plan) Summary() string {
	counts := p.counts(store.HiddenEntity)
	var parts []string
	add := func(verb string, of func(store.ChangeCount) int) {
		if kinds := countKinds(counts, of); len(kinds) > 0 {
			parts = append(parts, fmt.Sprintf("%s %d (%s)", verb, kinds.total(), kinds))
		}
	}
	add("deletes", func(c store.ChangeCount) int { return c.Deleted })
	if p.Call != nil {
		parts = append(parts, "calls "+p.Call.Tool)
	}
	add("updates", func(c store.ChangeCount) int { return c.Updated })
	add("creates", func(c store.ChangeCount) int { return c.Created })
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

func (p *Plan) subject() string { return or(p.Request.Principal.Subject, "nobody in particular") }

func (p *Plan) writeRequest(t *planText) {
	if p.Call == nil {
		t.printf("%s (for %s) wants to commit these changes:\n", p.Request.Tool, plain(p.subject()))
		return
	}
	effect := p.Call.effect()
	if effect != "" {
		effect += " that cannot be undone"
	}
	t.printf("%s (for %s) wants to call %s%s:\n  %s\n", p.Request.Tool, plain(p.subject()), p.Call.Tool, effect, t.input(p.Call.Input))
	p.writeCarried(t)
	if p.Call.Voided != nil {
		t.printf("%s\n", p.Call.Voided.text())
	}
}

// writeCarried says which servers' words the call would pass on.
func (p *Plan) writeCarried(t *planText) {
	if len(p.Call.Carries) == 0 {
		return
	}
	t.WriteString("Its input has text from servers that nobody vouches for:\n")
	for _, c := range p.Call.Carries {
		if c.Text == "" {
			t.printf("  from %s (%s): more than can be compared; it may have any of it\n", plain(c.Source), plain(c.Tool))
			continue
		}
		t.printf("  from %s (%s): %s\n", plain(c.Source), plain(c.Tool), strconv.Quote(clipped(t.redact(c.Text), t.bounds.input)))
	}
}

// writeCalls lists the calls that already had an effect outside, which no answer takes back.
func (p *Plan) writeCalls(t *planText) {
	var done, pending []PlannedCall
	for _, c := range p.Agreed {
		if c.Pending {
			pending = append(pending, c)
		} else {
			done = append(done, c)
		}
	}
	t.writeApproved("Already done outside, after approval:\n", done)
	t.writeApproved("Approved, and not done yet:\n", pending)
	var unasked kinds
	for _, c := range p.Made {
		unasked.add(c.ToolName, 1)
	}
	for _, c := range done {
		unasked.add(c.Tool, -1)
	}
	if unasked = unasked.present(); len(unasked) > 0 {
		t.printf("Already done outside, without approval: %s.\n", unasked)
	}
}

func (t *planText) writeApproved(title string, calls []PlannedCall) {
	if len(calls) == 0 {
		return
	}
	var rest kinds
	t.WriteString(title)
	for i, c := range calls {
		if i < t.bounds.calls {
			t.printf("  %s %s\n", c.Tool, t.input(c.Input))
		} else {
			rest.add(c.Tool, 1)
		}
	}
	if len(rest) > 0 {
		t.printf("  … and %s: %s\n", quantity(rest.total(), "more call"), rest)
	}
}

func (p *Plan) writeDifferences(t *planText) {
	if len(p.Differs) == 0 {
		return
	}
	t.WriteString("\nThis is not what was approved before; the data has changed since:\n")
	for i, d := range p.Differs {
		if i == t.bounds.differs {
			t.printf("  … and %s\n", quantity(len(p.Differs)-i, "more difference"))
			break
		}
		t.printf("  %s\n", t.redact(d))
	}
}

// planText is the text while it is written.
type planText struct {
	strings.Builder
	redact func(string) string
	bounds textBounds
}

func (t *planText) printf(format string, args ...any) { fmt.Fprintf(&t.Builder, format, args...) }

// value is one value for reading: short, on one line, and with nothing in it that a
// terminal or a dialog would act on.
func (t *planText) value(raw json.RawMessage) string {
	text, quoted := t.whole(raw)
	return t.short(text, quoted)
}

// values are a field's values before and after a change. Where both are long, they begin
// shortly before the first difference, so that a change is never cut off.
func (t *planText) values(before, after json.RawMessage) (from, to string) {
	a, aQuoted := t.whole(before)
	b, bQuoted := t.whole(after)
	same, runes, left := 0, []rune(a), []rune(b)
	for same < min(len(runes), len(left)) && runes[same] == left[same] {
		same++
	}
	if same >= t.bounds.value {
		start := same - t.bounds.value/3
		a, b = "…"+string(runes[start:]), "…"+string(left[start:])
	}
	return t.short(a, aQuoted), t.short(b, bQuoted)
}

// whole returns a value's text without secrets, and whether it is a string.
func (t *planText) whole(raw json.RawMessage) (text string, isString bool) {
	if len(raw) == 0 {
		return "none", false
	}
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return t.redact(text), true
	}
	return t.redactJSON(string(raw)), false
}

// redactJSON returns JSON text without secrets: what stands behind an escape in a string would not be
// recognised by its beginning in the text as a whole, and the names of members not in the strings.
func (t *planText) redactJSON(raw string) string {
	return t.redact(jsonText.ReplaceAllStringFunc(raw, func(quoted string) string {
		var text string
		if json.Unmarshal([]byte(quoted), &text) != nil {
			return quoted
		}
		clean := t.redact(text)
		if clean == text {
			return quoted
		}
		out, err := json.Marshal(clean)
		if err != nil {
			return quoted // a string is always JSON
		}
		return string(out)
	}))
}

func (t *planText) short(text string, quoted bool) string {
	text = clipped(text, t.bounds.value)
	if quoted {
		return strconv.Quote(text)
	}
	return plain(text)
}

// input is a call's input for reading.
func (t *planText) input(raw json.RawMessage) string {
	var short bytes.Buffer
	if json.Compact(&short, raw) != nil {
		return "{}"
	}
	return plain(fitInput(t.redactJSON(short.String()), t.bounds.input))
}

// jsonText is a string in JSON.
var jsonText = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"`)

// fitInput shortens an input to about most characters. Long strings are cut before anything
// is left out, so that no long text hides the members behind it; what is left out is counted.
func fitInput(input string, most int) string {
	fitted := input
	for _, length := range []int{most / 3, most / 6, most / 12, most / 24} {
		if utf8.RuneCountInString(fitted) <= most {
			return fitted
		}
		fitted = jsonText.ReplaceAllStringFunc(input, func(quoted string) string {
			runes := []rune(quoted)
			if len(runes) <= length+20 {
				return quoted
			}
			return fmt.Sprintf("%s…\" (%d more characters)", strings.TrimRight(string(runes[:length]), `\`), len(runes)-length-1)
		})
	}
	runes := []rune(fitted)
	if len(runes) <= most {
		return fitted
	}
	return fmt.Sprintf("%s… (%d more characters)", string(runes[:most]), len(runes)-most)
}

func (t *planText) id(id string) string { return plain(clipped(t.redact(id), t.bounds.value)) }

// kinds are numbers by name, in the order of first appearance.
type kinds []struct {
	name string
	n    int
}

func (k *kinds) add(name string, n int) {
	for i := range *k {
		if (*k)[i].name == name {
			(*k)[i].n += n
			return
		}
	}
	*k = append(*k, struct {
		name string
		n    int
	}{name, n})
}

func (k kinds) present() (out kinds) {
	for _, kind := range k {
		if kind.n > 0 {
			out = append(out, kind)
		}
	}
	return out
}

func (k kinds) total() (n int) {
	for _, kind := range k {
		n += kind.n
	}
	return n
}

// String lists every kind: "280 Shop, 21 Member".
func (k kinds) String() string {
	parts := make([]string, len(k))
	for i, kind := range k {
		parts[i] = fmt.Sprintf("%d %s", kind.n, plain(kind.name))
	}
	return strings.Join(parts, ", ")
}

// countKinds sums one column of counts by entity.
func countKinds(counts []store.ChangeCount, of func(store.ChangeCount) int) kinds {
	var out kinds
	for _, c := range counts {
		out.add(c.Entity, of(c))
	}
	return out.present()
}

// quantity is a number and a noun: "1 row", "3 rows".
func quantity(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
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

func clipped(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
