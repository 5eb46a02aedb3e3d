package barcode

// A window of a line is the widths of its bars and spaces in turn, the first one is
// a bar. All decoders take it forwards; the caller turns it around.

// eanWidths are the widths of a digit's space, bar, space and bar, in modules, on
// the left side with odd parity. Mirrored they are of even parity; on the right
// side they begin with a bar.
var eanWidths = [10][4]float64{
	{3, 2, 1, 1},
	{2, 2, 2, 1},
	{2, 1, 2, 2},
	{1, 4, 1, 1},
	{1, 1, 3, 2},
	{1, 2, 3, 1},
	{1, 1, 1, 4},
	{1, 3, 1, 2},
	{1, 2, 1, 3},
	{3, 1, 1, 2},
}

const (
	// maxDigitError bounds how far a digit may be from its ideal, as the sum of
	// squares of its four widths, in modules. Neighbouring digits are 2 or more
	// apart.
	maxDigitError = 1.6
	// minDigitMargin is how much worse the second best digit must be.
	minDigitMargin = 0.25
	// maxMeanError bounds the mean over all digits.
	maxMeanError = 0.6
	// maxShortError is maxMeanError of UPC-E, which holds less that could be checked.
	maxShortError = 0.2
	// maxStretch is how much wider a digit may be than the one before.
	maxStretch = 1.3
	// maxGuardError bounds how far a bar or space of a guard may be from 1 module.
	maxGuardError = 0.65
)

// eanDecoder reads one window's digits, and sums up how well they fit.
type eanDecoder struct {
	digits [13]byte
	even   [13]bool
	n      int
	sum    float64
	module float64 // of the digit before
}

// digit decodes four widths; both says whether even parity is possible. spread is
// by how much bars are too wide, in modules, and bar says whether the first width
// is one.
func (d *eanDecoder) digit(w []float64, spread float64, bar, both bool) bool {
	total := w[0] + w[1] + w[2] + w[3]
	if total <= 0 {
		return false
	}
	// Neighbouring digits are equally wide, but for what perspective and cans do.
	if module := total / 7; d.module > 0 && (module < d.module/maxStretch || module > d.module*maxStretch) {
		return false
	}
	d.module = total / 7
	scale := 7 / total
	if bar {
		spread = -spread
	}
	v := [4]float64{w[0]*scale + spread, w[1]*scale - spread, w[2]*scale + spread, w[3]*scale - spread}
	best, second, at, even := 99.0, 99.0, 0, false
	consider := func(e float64, digit int, isEven bool) {
		switch {
		case e < best:
			best, second, at, even = e, best, digit, isEven
		case e < second:
			second = e
		}
	}
	for i, p := range &eanWidths {
		a, b, c, e := v[0]-p[0], v[1]-p[1], v[2]-p[2], v[3]-p[3]
		consider(a*a+b*b+c*c+e*e, i, false)
		if both {
			a, b, c, e = v[0]-p[3], v[1]-p[2], v[2]-p[1], v[3]-p[0]
			consider(a*a+b*b+c*c+e*e, i, true)
		}
	}
	if best > maxDigitError || second-best < minDigitMargin {
		return false
	}
	d.digits[d.n], d.even[d.n] = byte('0'+at), even
	d.n++
	d.sum += best
	return true
}

// guards checks bars and spaces of one module each, and returns by how much bars
// are too wide. The width of a module is taken from their surroundings.
func guards(w []float64, groups [][2]int, module float64) (spread float64, ok bool) {
	bars, spaces, nBars, nSpaces := 0.0, 0.0, 0, 0
	for _, g := range groups {
		local := 0.0
		for i := g[0]; i < g[1]; i++ {
			local += w[i] / float64(g[1]-g[0])
			if i%2 == 0 {
				bars += w[i] / module
				nBars++
			} else {
				spaces += w[i] / module
				nSpaces++
			}
		}
		if local < 0.55*module || local > 1.6*module {
			return 0, false
		}
	}
	spread = (bars/float64(nBars) - spaces/float64(nSpaces)) / 2
	if spread < -0.6 || spread > 0.6 {
		return 0, false
	}
	for _, g := range groups {
		for i := g[0]; i < g[1]; i++ {
			width := w[i]/module - spread
			if i%2 == 1 {
				width = w[i]/module + spread
			}
			if width < 1-maxGuardError || width > 1+1.4*maxGuardError {
				return 0, false
			}
		}
	}
	return spread, true
}

// parities says for each first digit of EAN-13 which of the next six are even.
var parities = [10]string{"oooooo", "ooeoee", "ooeeoe", "ooeeeo", "oeooee", "oeeooe", "oeeeoo", "oeoeoe", "oeoeeo", "oeeoeo"}

// decodeEAN13 reads 59 widths.
func decodeEAN13(w []float64) (value string, fit float64, ok bool) {
	module := total(w) / 95
	spread, ok := guards(w, [][2]int{{0, 3}, {27, 32}, {56, 59}}, module)
	if !ok {
		return "", 0, false
	}
	var d eanDecoder
	d.n = 1
	for i := range 6 {
		if !d.digit(w[3+4*i:], spread, false, true) {
			return "", 0, false
		}
	}
	for i := range 6 {
		if !d.digit(w[32+4*i:], spread, true, false) {
			return "", 0, false
		}
	}
	for first, p := range parities {
		if p == pattern(d.even[1:7]) {
			d.digits[0] = byte('0' + first)
		}
	}
	value = string(d.digits[:])
	if d.digits[0] == 0 || d.sum/12 > maxMeanError || !validGTIN(value) {
		return "", 0, false
	}
	return value, d.sum / 12, true
}

// decodeEAN8 reads 43 widths.
func decodeEAN8(w []float64) (value string, fit float64, ok bool) {
	module := total(w) / 67
	spread, ok := guards(w, [][2]int{{0, 3}, {19, 24}, {40, 43}}, module)
	if !ok {
		return "", 0, false
	}
	var d eanDecoder
	for i := range 4 {
		if !d.digit(w[3+4*i:], spread, false, false) {
			return "", 0, false
		}
	}
	for i := range 4 {
		if !d.digit(w[24+4*i:], spread, true, false) {
			return "", 0, false
		}
	}
	value = string(d.digits[:8])
	if d.sum/8 > maxMeanError || !validGTIN(value) {
		return "", 0, false
	}
	return value, d.sum / 8, true
}

// upceParities says for each check digit which of the six digits of UPC-E are even,
// in number system 0; in number system 1 the others are.
var upceParities = [10]string{"eeeooo", "eeoeoo", "eeooeo", "eeoooe", "eoeeoo", "eooeeo", "eoooee", "eoeoeo", "eoeooe", "eooeoe"}

// decodeUPCE reads 33 widths; the value is that of the UPC-A code, with 13 digits.
func decodeUPCE(w []float64) (value, text string, fit float64, ok bool) {
	module := total(w) / 51
	spread, ok := guards(w, [][2]int{{0, 3}, {27, 33}}, module)
	if !ok {
		return "", "", 0, false
	}
	var d eanDecoder
	for i := range 6 {
		if !d.digit(w[3+4*i:], spread, false, true) {
			return "", "", 0, false
		}
	}
	if d.sum/6 > maxShortError {
		return "", "", 0, false
	}
	odd := pattern(d.even[:6])
	other := make([]bool, 6)
	for i, e := range d.even[:6] {
		other[i] = !e
	}
	for check, p := range upceParities {
		for system, have := range []string{odd, pattern(other)} {
			if have != p {
				continue
			}
			text = string(byte('0'+system)) + string(d.digits[:6]) + string(byte('0'+check))
			value = "0" + expandUPCE(text)
			return value, text, d.sum / 6, validGTIN(value)
		}
	}
	return "", "", 0, false
}

// expandUPCE returns the 12 digits that the 8 of a UPC-E code stand for.
func expandUPCE(s string) string {
	d := s[1:7]
	switch d[5] {
	case '0', '1', '2':
		return s[:1] + d[:2] + d[5:] + "0000" + d[2:5] + s[7:]
	case '3':
		return s[:1] + d[:3] + "00000" + d[3:5] + s[7:]
	case '4':
		return s[:1] + d[:4] + "00000" + d[4:5] + s[7:]
	}
	return s[:1] + d[:5] + "0000" + d[5:] + s[7:]
}

// pattern writes parities as letters.
func pattern(even []bool) string {
	b := make([]byte, len(even))
	for i, e := range even {
		b[i] = 'o'
		if e {
			b[i] = 'e'
		}
	}
	return string(b)
}

func total(w []float64) (sum float64) {
	for _, v := range w {
		sum += v
	}
	return sum
}
