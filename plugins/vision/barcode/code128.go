package barcode

import (
	"math"
	"strings"
)

// code128Widths are the widths of each symbol's bars and spaces, in modules. The
// stop symbol has one more bar of 2 modules.
var code128Widths = strings.Fields(`
212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212
112232 122132 122231 113222 123122 123221 223211 221132 221231 213212 223112 312131
311222 321122 321221 312212 322112 322211 212123 212321 232121 111323 131123 131321
112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121
313121 211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111
314111 221411 431111 111224 111422 121124 121421 141122 141221 112214 112412 122114
122411 142112 142211 241211 221114 413111 241112 134111 111242 121142 121241 114212
124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113
114311 411113 411311 113141 114131 311141 411131 211412 211214 211232 233111`)

// code128Steps holds, for each symbol, the four distances from an edge to the next
// one of the same kind: ink that spreads changes them not.
var code128Steps = func() (out [][4]float64) {
	for _, w := range code128Widths {
		var s [4]float64
		for i := range s {
			s[i] = float64(w[i]-'0') + float64(w[i+1]-'0')
		}
		out = append(out, s)
	}
	return out
}()

const (
	code128Shift  = 98
	code128CodeC  = 99
	code128CodeB  = 100
	code128CodeA  = 101
	code128FNC1   = 102
	code128StartA = 103
	code128StartC = 105
	code128Stop   = 106

	// maxSymbolError bounds the sum of squares of a symbol's four steps, in modules;
	// minSymbolMargin is how much worse the second best must be.
	maxSymbolError  = 1.0
	minSymbolMargin = 0.3
	// minSymbols is the fewest symbols between start and check symbol: shorter codes
	// are too easily seen where there are none.
	minSymbols = 3
	maxSymbols = 60
)

// code128Symbol decodes six widths.
func code128Symbol(w []float64) (symbol int, fit float64, ok bool) {
	module := total(w[:6]) / 11
	if module <= 0 {
		return 0, 0, false
	}
	best, second := math.Inf(1), math.Inf(1)
	for i, s := range code128Steps {
		e := 0.0
		for k := range s {
			d := (w[k]+w[k+1])/module - s[k]
			e += d * d
		}
		switch {
		case e < best:
			best, second, symbol = e, best, i
		case e < second:
			second = e
		}
	}
	return symbol, best, best <= maxSymbolError && second-best >= minSymbolMargin
}

// decodeCode128 reads a code that begins with the first of the widths, and returns
// how many of them it takes.
func decodeCode128(w []float64) (text string, n int, fit float64, ok bool) {
	if len(w) < 6*(minSymbols+2)+7 {
		return "", 0, 0, false
	}
	// All three start symbols begin with 2:1:1.
	if module := total(w[:6]) / 11; math.Abs(w[0]+w[1]-3*module) > module || math.Abs(w[1]+w[2]-2*module) > module {
		return "", 0, 0, false
	}
	first, sum, ok := code128Symbol(w)
	if !ok || first < code128StartA || first > code128StartC {
		return "", 0, 0, false
	}
	symbols, module := []int{first}, total(w[:6])/11
	for n = 6; ; n += 6 {
		if n+7 > len(w) || len(symbols) > maxSymbols {
			return "", 0, 0, false
		}
		s, e, ok := code128Symbol(w[n:])
		here := total(w[n:n+6]) / 11
		if !ok || s >= code128StartA && s != code128Stop || here < 0.7*module || here > 1.4*module {
			return "", 0, 0, false
		}
		sum += e
		if s == code128Stop {
			break
		}
		symbols, module = append(symbols, s), here
	}
	if last := w[n+6] / module; last < 1.2 || last > 3 {
		return "", 0, 0, false
	}
	if len(symbols) < minSymbols+2 {
		return "", 0, 0, false
	}
	check := symbols[0]
	for i, s := range symbols[1 : len(symbols)-1] {
		check += (i + 1) * s
	}
	if check%103 != symbols[len(symbols)-1] {
		return "", 0, 0, false
	}
	text, ok = code128Text(symbols[:len(symbols)-1])
	return text, n + 7, sum / float64(len(symbols)+1), ok && text != ""
}

// groupSeparator stands for FNC1 in the text of a code, as in GS1 element strings.
const groupSeparator = "\x1d"

// code128Text returns the text of symbols, the first of which is the start symbol.
func code128Text(symbols []int) (string, bool) {
	set := symbols[0] - code128StartA + code128CodeA // A, B, C as 101, 100, 99
	switch symbols[0] - code128StartA {
	case 0:
		set = code128CodeA
	case 1:
		set = code128CodeB
	case 2:
		set = code128CodeC
	}
	var b strings.Builder
	shifted := false
	for _, s := range symbols[1:] {
		now := set
		if shifted {
			now, shifted = code128CodeA+code128CodeB-set, false
		}
		switch {
		case s == code128FNC1:
			b.WriteString(groupSeparator)
		case now == code128CodeC && s < 100:
			b.WriteByte(byte('0' + s/10))
			b.WriteByte(byte('0' + s%10))
		case s == code128CodeA && now != code128CodeA, s == code128CodeB && now != code128CodeB, s == code128CodeC && now != code128CodeC:
			set = s
		case s == code128Shift && now != code128CodeC:
			shifted = true
		case s >= 96: // FNC2, FNC3, FNC4: for readers' set-up and for text beyond ASCII
			return "", false
		case now == code128CodeA && s >= 64:
			b.WriteByte(byte(s - 64))
		default:
			b.WriteByte(byte(s + 32))
		}
	}
	return b.String(), true
}
