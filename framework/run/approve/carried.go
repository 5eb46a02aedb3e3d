package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"index/suffixarray"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// Carried is a text of an untrusted server in the input of a call.
type Carried struct {
	Source string `json:"source"` // the server
	Tool   string `json:"tool"`   // that returned it
	// Text is its beginning, or that of the part of it which the input has. "" is text that
	// was not compared: the server returned more than is kept of one run, or the input has
	// too many strings.
	Text string `json:"text,omitempty"`
}

// Bounds of what is kept of the texts of one run.
const (
	minText     = 12 // bytes: shorter ones are words that every server returns
	maxTexts    = 100_000
	maxTextSize = 24 << 20 // bytes of all of them
	maxNested   = 3        // JSON in strings of JSON, levels
	maxCarried  = 5        // texts of one server that are shown
	shownText   = 160      // bytes of each
	// maxCompared bounds looking for the strings of one input within the texts: bytes of
	// texts, for all strings together. It takes about a tenth of a second.
	maxCompared = 512 << 20
)

// strangers are the texts that untrusted servers returned in a run: each string, and each
// line of a string, of at least minText bytes.
type strangers struct {
	mu    sync.Mutex
	texts []strangerText
	known map[strangerText]struct{}
	bytes int
	full  []strangerText // servers and tools of which more came than is kept; without texts
	own   *textIndex     // what the caller says itself; made when it is needed
	// sent are strings that servers were given before any of them had returned a text with
	// them: that they return them does not make them theirs.
	sent map[string]struct{}
}

type strangerText struct{ source, tool, text string }

// entryOverhead is about what a kept text takes beside its bytes.
const entryOverhead = 160

// note keeps the texts of what a call returned, and returns how many bytes more are kept.
// What the caller has said, in this call or in its request, is not the server's.
func (s *strangers) note(op *catalog.Operation, tool string, request, input json.RawMessage, returned ...json.RawMessage) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.size()
	s.noteTold(input)
	s.addAll(op.ID.Owner, tool, request, input, returned...)
	return s.size() - before
}

// notePassedOn does the same for an operation that passes texts on (Operation.PassesOn): what it
// returned is from the servers whose texts its input has.
func (s *strangers) notePassedOn(from []Carried, request, input, returned json.RawMessage) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.size()
	for n, t := range from {
		if !slices.ContainsFunc(from[:n], func(other Carried) bool { return other.Source == t.Source }) {
			s.addAll(t.Source, t.Tool, request, input, returned)
		}
	}
	return s.size() - before
}

// addAll keeps the texts of values that a server returned.
func (s *strangers) addAll(source, tool string, request, input json.RawMessage, returned ...json.RawMessage) {
	said := newTextIndex(input)
	for _, raw := range returned {
		eachText(raw, maxNested, func(text string) {
			s.add(strangerText{source, tool, text}, request, said)
			if !strings.Contains(text, "\n") {
				return
			}
			for line := range strings.SplitSeq(text, "\n") {
				s.add(strangerText{source, tool, line}, request, said)
			}
		})
	}
}

// noteTold remembers what a server was given that is not from a server.
func (s *strangers) noteTold(input json.RawMessage) {
	left := maxCompared
	eachText(input, maxNested, func(text string) {
		text = strings.TrimSpace(text)
		if len(text) < minText || len(s.sent) == maxTexts || len(text) > maxTextSize-s.bytes {
			return
		}
		if left -= s.bytes; left < 0 || slices.ContainsFunc(s.texts, func(t strangerText) bool { return strings.Contains(t.text, text) }) {
			return
		}
		if _, ok := s.sent[text]; ok {
			return
		}
		if s.sent == nil {
			s.sent = map[string]struct{}{}
		}
		s.sent[text] = struct{}{}
		s.bytes += len(text)
	})
}

func (s *strangers) size() int { return s.bytes + entryOverhead*len(s.texts) }

func (s *strangers) add(t strangerText, request json.RawMessage, said *textIndex) {
	t.text = strings.TrimSpace(t.text)
	if len(t.text) < minText {
		return
	}
	if _, ok := s.known[t]; ok {
		return
	}
	if s.own == nil {
		s.own = newTextIndex(request)
	}
	switch {
	case said.contains(t.text) || s.own.contains(t.text):
		return
	case len(s.texts) == maxTexts || s.bytes+len(t.text) > maxTextSize:
		t.text = ""
		if !slices.Contains(s.full, t) && len(s.full) < maxTexts {
			s.full = append(s.full, t)
		}
		return
	}
	if s.known == nil {
		s.known = map[strangerText]struct{}{}
	}
	t.text = strings.Clone(t.text) // not all of the output that it is a part of
	s.known[t] = struct{}{}
	s.texts = append(s.texts, t)
	s.bytes += len(t.text)
}

// in returns the texts that the input of a call carries, and the strings of the input that
// are parts of texts, for each server the longest first. An identifier that goes back to the
// server that it came from is not counted, unless the handler gets something else in its
// place: the content of a file. expanded is what the handler gets, nil for the input.
func (s *strangers) in(op *catalog.Operation, input, expanded json.RawMessage) []Carried {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.texts) == 0 && len(s.full) == 0 {
		return nil
	}
	index := newTextIndex(input)
	bySource := map[string][]strangerText{}
	returns := func(t strangerText, text string) bool {
		return (op.ID.Kind == catalog.KindUpstream || op.ID.Kind == catalog.KindPlugin) && op.ID.Owner == t.source && !strings.ContainsFunc(text, unicode.IsSpace) &&
			(expanded == nil || bytes.Contains(expanded, []byte(text)))
	}
	for _, t := range s.texts {
		if !returns(t, t.text) && index.contains(t.text) {
			bySource[t.source] = append(bySource[t.source], t)
		}
	}
	parts, compared := s.partsIn(input)
	for _, t := range parts {
		if !returns(t, t.text) && !slices.Contains(bySource[t.source], t) {
			bySource[t.source] = append(bySource[t.source], t)
		}
	}
	if !compared {
		for _, t := range s.texts {
			if len(bySource[t.source]) == 0 {
				bySource[t.source] = []strangerText{{source: t.source, tool: t.tool}}
			}
		}
	}
	if index.longest >= minText {
		for _, t := range s.full {
			if len(bySource[t.source]) == 0 {
				bySource[t.source] = []strangerText{t}
			}
		}
	}
	var out []Carried
	for _, source := range sortedKeys(bySource) {
		found := bySource[source]
		slices.SortStableFunc(found, func(a, b strangerText) int { return len(b.text) - len(a.text) })
		for _, t := range found[:min(len(found), maxCarried)] {
			out = append(out, Carried{Source: t.source, Tool: t.tool, Text: t.text})
		}
	}
	return out
}

// partsIn returns the strings of an input that are parts of a text, with where that is from,
// and whether all of them could be compared.
func (s *strangers) partsIn(input json.RawMessage) (out []strangerText, compared bool) {
	left := maxCompared
	seen := map[string]bool{}
	eachText(input, maxNested, func(text string) {
		text = strings.TrimSpace(text)
		if len(text) < minText || seen[text] || left < 0 {
			return
		}
		seen[text] = true
		if _, ok := s.sent[text]; ok || s.own.contains(text) {
			return
		}
		if left -= s.bytes; left < 0 {
			return
		}
		sources := map[string]bool{}
		for _, t := range s.texts {
			if !sources[t.source] && strings.Contains(t.text, text) {
				sources[t.source] = true
				out = append(out, strangerText{t.source, t.tool, text})
			}
		}
	})
	return out, left >= 0
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// textIndex finds texts within the strings of a JSON value. Its cost does not depend on
// what a server chose to return.
type textIndex struct {
	all     []byte
	array   *suffixarray.Index // nil for short values, which are searched as they are
	longest int                // of the strings, in bytes
}

// indexedFrom is how many bytes a value has for which an index takes less time.
const indexedFrom = 2 << 10

func newTextIndex(raw json.RawMessage) *textIndex {
	x := &textIndex{}
	eachText(raw, maxNested, func(text string) {
		x.longest = max(x.longest, len(text))
		x.all = append(append(x.all, text...), 0)
	})
	if len(x.all) >= indexedFrom {
		x.array = suffixarray.New(x.all)
	}
	return x
}

func (x *textIndex) contains(text string) bool {
	switch {
	case len(text) > x.longest:
		return false
	case x.array == nil:
		return bytes.Contains(x.all, []byte(text))
	}
	return len(x.array.Lookup([]byte(text), 1)) > 0
}

// eachText calls fn for each string of a valid JSON value, names of members included, and
// for the strings of JSON in such a string.
func eachText(raw json.RawMessage, nested int, fn func(text string)) {
	for {
		start := bytes.IndexByte(raw, '"')
		if start < 0 {
			return
		}
		end, escaped := start+1, false
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				escaped = true
				end++
			}
			end++
		}
		if end >= len(raw) {
			return
		}
		text := string(raw[start+1 : end])
		if (escaped || !utf8.ValidString(text)) && json.Unmarshal(raw[start:end+1], &text) != nil { // scripts get it decoded, too
			text = ""
		}
		raw = raw[end+1:]
		if inner := strings.TrimSpace(text); nested > 0 && len(inner) > 1 && (inner[0] == '{' || inner[0] == '[') && json.Valid([]byte(inner)) {
			eachText(json.RawMessage(inner), nested-1, fn)
		}
		fn(text)
	}
}

// sources are the servers whose text a call carries.
func (c PlannedCall) sources() (out []string) {
	for _, t := range c.Carries {
		if !slices.Contains(out, t.Source) {
			out = append(out, t.Source)
		}
	}
	return out
}

// taint follows the texts of untrusted servers through a run. Where the policy does not ask
// about them, it does nothing.
type taint struct {
	of        *run.Run
	asks      bool
	strangers strangers
}

// carried returns the strangers' texts in the input of a call, as a plan has them.
func (t *taint) carried(o *run.OutsideCall) []Carried {
	if !t.asks || !o.Effect {
		return nil
	}
	out := t.strangers.in(o.Operation, o.Input, o.Expanded)
	for i := range out {
		out[i].Text = cutBytes(t.of.Redact(out[i].Text), shownText)
	}
	return out
}

// cutBytes shortens a text to about n bytes.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

var _ run.Witness = (*consent)(nil)

// BeforeOutside implements run.Witness.
func (*taint) BeforeOutside(context.Context, *run.OutsideCall) error { return nil }

// Recorded implements run.Witness: what is on the tape comes from the same server.
func (t *taint) Recorded(o *run.OutsideCall) {
	if out, err, ok := t.of.Tape().Outside(o.Position, o.Digest); ok {
		t.noteReturned(o, out, err)
	}
}

// AfterOutside implements run.Witness.
func (t *taint) AfterOutside(_ context.Context, o *run.OutsideCall, out json.RawMessage, err error) {
	t.noteReturned(o, out, err)
}

// noteReturned remembers what an untrusted server returned, in its result or in a failure.
func (t *taint) noteReturned(o *run.OutsideCall, out json.RawMessage, err error) {
	if !t.asks {
		return
	}
	if o.Operation.PassesOn {
		from := t.strangers.in(o.Operation, o.Input, o.Expanded)
		t.of.Keep(int64(t.strangers.notePassedOn(from, t.of.Request().Input, o.Input, out)))
	}
	if !o.Operation.Untrusted {
		return
	}
	returned := []json.RawMessage{out}
	var f *fault.Fault
	if errors.As(err, &f) {
		message, _ := json.Marshal(f.Message)
		details, _ := json.Marshal(f.Details) // of JSON and texts
		returned = append(returned, message, details)
	}
	tool := t.of.Request().View.Snapshot().ToolName(o.Operation.ID)
	t.of.Keep(int64(t.strangers.note(o.Operation, tool, t.of.Request().Input, o.Input, returned...)))
}
