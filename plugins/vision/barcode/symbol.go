package barcode

import (
	"math"
	"slices"
)

// hit is one code on a line; from and to are its first and last bar's outer
// edges, in samples, in the direction of reading.
type hit struct {
	format Format
	value  string
	text   string
	from   float64
	to     float64
	fit    float64 // how far it is from an ideal code; 0 is ideal
}

// symbology is what a run of bars and spaces must look like to be decoded.
type symbology struct {
	format  Format
	bars    int     // bars and spaces, guards included
	modules float64 // the whole width
	quiet   float64 // light space on both sides, in modules. The standards ask for 7 to 11; packages have less.
	decode  func(widths []float64) (value, text string, fit float64, ok bool)
}

var symbologies = []symbology{
	{EAN13, 59, 95, 1, func(w []float64) (string, string, float64, bool) {
		value, fit, ok := decodeEAN13(w)
		return value, "", fit, ok
	}},
	{EAN8, 43, 67, 3.5, func(w []float64) (string, string, float64, bool) {
		value, fit, ok := decodeEAN8(w)
		return value, "", fit, ok
	}},
	{UPCE, 33, 51, 4.5, decodeUPCE},
	{ITF, itfBars, 14/2*2*(3+2*2.5) + 4 + 4.5, 2.5, func(w []float64) (string, string, float64, bool) {
		value, fit, ok := decodeITF14(w)
		return value, "", fit, ok
	}},
}

// code128Quiet is the light space beside Code 128, in modules.
const code128Quiet = 2

// minModule is the narrowest bar that is read, in pixels.
const minModule = 0.9

// decode returns all codes on a line, read in both directions, dark on light and
// light on dark.
func (l *line) decode(out []hit) []hit {
	for start := 0; start+1 < len(l.edges); start++ {
		for i := range symbologies {
			if h, ok := l.decodeAt(start, &symbologies[i]); ok {
				out = append(out, h)
			}
		}
		if h, ok := l.decodeCode128At(start); ok {
			out = append(out, h)
		}
	}
	return out
}

// space returns the width of what lies before and after the edges start to end. Where
// the picture ends, a code that is whole counts as one with light around it, unless it
// is so short that it may be a part of a longer one.
func (l *line) space(start, end int, short bool) (before, after float64) {
	before, after = l.edges[start], float64(len(l.values))-l.edges[end]
	if start > 0 {
		before = l.edges[start] - l.edges[start-1]
	} else if l.cut[0] && !short {
		before = math.Inf(1)
	}
	if end+1 < len(l.edges) {
		after = l.edges[end+1] - l.edges[end]
	} else if l.cut[1] && !short {
		after = math.Inf(1)
	}
	return before, after
}

// decodeAt decodes the bars that begin at an edge.
func (l *line) decodeAt(start int, s *symbology) (hit, bool) {
	end := start + s.bars
	if end >= len(l.edges) {
		return hit{}, false
	}
	e := l.edges
	module := (e[end] - e[start]) / s.modules
	if module < minModule/step {
		return hit{}, false
	}
	before, after := l.space(start, end, s.format == EAN8 || s.format == UPCE)
	if before < s.quiet*module || after < s.quiet*module {
		return hit{}, false
	}
	if first := e[start+2] - e[start]; first > 5*module { // two narrow ones
		return hit{}, false
	}
	l.takeWidths(start, end)
	for _, backwards := range [2]bool{false, true} {
		if backwards {
			slices.Reverse(l.widths)
		}
		value, text, fit, ok := s.decode(l.widths)
		if !ok {
			continue
		}
		h := hit{format: s.format, value: value, text: text, from: e[start], to: e[end], fit: fit}
		if h.format == EAN13 && value[0] == '0' {
			h.format = UPCA
		}
		if backwards {
			h.from, h.to = h.to, h.from
		}
		return h, true
	}
	return hit{}, false
}

func (l *line) takeWidths(start, end int) {
	l.widths = l.widths[:0]
	for i := start; i < end; i++ {
		l.widths = append(l.widths, l.edges[i+1]-l.edges[i])
	}
}

// decodeCode128At decodes a Code 128 that begins at an edge, or, when it is read
// backwards, ends there.
func (l *line) decodeCode128At(start int) (hit, bool) {
	e := l.edges
	for _, backwards := range [2]bool{false, true} {
		l.widths = l.widths[:0]
		if !backwards {
			if start > 0 && start+6 < len(e) && e[start]-e[start-1] < code128Quiet*(e[start+6]-e[start])/11 {
				continue
			}
			for i := start; i+1 < len(e) && len(l.widths) < 6*(maxSymbols+4); i++ {
				l.widths = append(l.widths, e[i+1]-e[i])
			}
		} else {
			if start >= 6 && start+1 < len(e) && e[start+1]-e[start] < code128Quiet*(e[start]-e[start-6])/11 {
				continue
			}
			for i := start; i > 0 && len(l.widths) < 6*(maxSymbols+4); i-- {
				l.widths = append(l.widths, e[i]-e[i-1])
			}
		}
		text, n, fit, ok := decodeCode128(l.widths)
		if !ok {
			continue
		}
		from, to := start, start+n
		if backwards {
			from, to = start-n, start
		}
		before, after := l.space(from, to, false)
		module := (e[to] - e[from]) / float64(11*(n/6)+2)
		if module < minModule/step || before < code128Quiet*module || after < code128Quiet*module {
			continue
		}
		h := hit{format: Code128, value: text, from: e[from], to: e[to], fit: fit}
		if gtin, ok := elementGTIN(text); ok {
			h.value, h.text = gtin, text
		}
		if backwards {
			h.from, h.to = h.to, h.from
		}
		return h, true
	}
	return hit{}, false
}
