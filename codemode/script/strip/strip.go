package strip

import (
	"slices"
	"strings"
)

// Options say how a text is read.
type Options struct {
	// Types are TypeScript's; without them a text that has some is refused.
	Types bool
	// Modules takes the statements import and export out too.
	Modules bool
}

// Import is an import statement that was taken out.
type Import struct {
	Path string
	// Default is the local name of the default export, Whole that of all exports, ""
	// for none.
	Default, Whole string
	Names          []Name
}

// Name is what one module calls something, and what another one does.
type Name struct{ Theirs, Ours string }

// Default is the name that an expression gets which a module exports by default.
const Default = "script_default"

// Stripped is a text without what was taken out of it.
type Stripped struct {
	Text    string
	Imports []Import
	// Default names what the module exports by default, "" for nothing.
	Default string
	// Exports are the names that are exported by a statement of their own: somebody has
	// to declare them.
	Exports []string
	// Returns tells that the text has a return outside of all functions.
	Returns bool

	pieces []piece
}

// piece says where a part of the stripped text came from: from in the text, source
// in what the user wrote, -1 for what nobody wrote.
type piece struct{ from, source int }

// Origin gives the offset in the source that an offset in the text came from. ok is
// false for what the source does not have.
func (s *Stripped) Origin(at int) (offset int, ok bool) {
	i, found := slices.BinarySearchFunc(s.pieces, at, func(p piece, at int) int { return p.from - at })
	if !found {
		i--
	}
	if i < 0 || s.pieces[i].source < 0 {
		return 0, false
	}
	return s.pieces[i].source + at - s.pieces[i].from, true
}

// Strip takes out of a text what an engine for JavaScript does not know. ok is false
// where it cannot tell what that would be, or what stays would mean something else.
func Strip(src string, o Options) (*Stripped, bool) {
	if o.Modules && strings.Contains(src, Default) || strings.Contains(src, "<!--") || strings.Contains(src, "-->") {
		return nil, false // the script has the name itself, or what used to be comments
	}
	p := &parser{src: src, opts: o, steps: 40*len(src) + 1000, first: -1, omitted: -1}
	p.scan(0)
	p.statements("")
	if p.failed || p.unsure || p.tok.kind != end {
		return nil, false
	}
	return p.stripped(), true
}

// edit replaces a part of the source: by its line ends and spaces alone, with what
// is to stand in their place at the begin, or by something else altogether.
type edit struct {
	from, to int
	with     string
	whole    bool
}

func (p *parser) stripped() *Stripped {
	s := &Stripped{Imports: p.imports, Default: p.exported, Exports: p.listed, Returns: p.returns}
	out := make([]byte, 0, len(p.src)+len(p.edits)*8)
	s.pieces = append(s.pieces, piece{0, 0})
	at := 0
	for _, e := range p.edits {
		out = append(out, p.src[at:e.from]...)
		at = e.to
		if e.whole {
			s.pieces = append(s.pieces, piece{len(out), -1})
			out = append(out, e.with...)
			s.pieces = append(s.pieces, piece{len(out), e.to})
			continue
		}
		out = append(out, e.with...)
		for i := e.from + len(e.with); i < e.to; i++ {
			out = append(out, blank(p.src, i))
		}
	}
	s.Text = string(append(out, p.src[at:]...))
	return s
}

// blank is what stands in the place of a byte that was taken out. The line ends of
// Unicode are of three bytes, of which each stays.
func blank(src string, i int) byte {
	switch c := src[i]; c {
	case '\n', '\r':
		return c
	case 0xe2, 0x80, 0xa8, 0xa9:
		for from := max(i-2, 0); from <= i; from++ {
			if rest := src[from:]; len(rest) >= 3 && rest[0] == 0xe2 && rest[1] == 0x80 && (rest[2] == 0xa8 || rest[2] == 0xa9) {
				return c
			}
		}
	}
	return ' '
}
