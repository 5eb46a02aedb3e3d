package barcode

// itfDigits says which of a digit's five bars or spaces are wide.
var itfDigits = map[[2]int]byte{
	{2, 3}: '0', {0, 4}: '1', {1, 4}: '2', {0, 1}: '3', {2, 4}: '4',
	{0, 2}: '5', {1, 2}: '6', {3, 4}: '7', {0, 3}: '8', {1, 3}: '9',
}

const (
	// itfBars is the number of bars and spaces of a code of 14 digits, the only
	// length read: a part of a longer ITF code is an ITF code as well, and only this
	// length has a check digit.
	itfBars = 4 + 7*10 + 3
	// minWide is how much wider the narrowest wide bar of a digit must be than the
	// widest narrow one.
	minWide = 1.3
)

// decodeITF14 reads 77 widths.
func decodeITF14(w []float64) (value string, fit float64, ok bool) {
	var digits [14]byte
	narrowBar, narrowSpace, wideBar := 0.0, 0.0, 0.0
	for pair := range 7 {
		for side := range 2 {
			var five [5]float64
			for i := range five {
				five[i] = w[4+10*pair+2*i+side]
			}
			digit, narrow, wide, ok := itfDigit(five)
			if !ok {
				return "", 0, false
			}
			digits[2*pair+side] = digit
			if side == 0 {
				narrowBar += narrow / 7
				wideBar += wide / 7
			} else {
				narrowSpace += narrow / 7
			}
		}
	}
	if wideBar < 1.5*narrowBar || wideBar > 4.5*narrowBar {
		return "", 0, false
	}
	// The start is two narrow bars and spaces, the end a wide bar and two narrow ones.
	for i, narrow := range map[int]float64{0: narrowBar, 1: narrowSpace, 2: narrowBar, 3: narrowSpace, 75: narrowSpace, 76: narrowBar} {
		if w[i] < 0.4*narrow || w[i] > 1.7*narrow {
			return "", 0, false
		}
	}
	if w[74] < 0.6*wideBar || w[74] > 1.6*wideBar {
		return "", 0, false
	}
	value = string(digits[:])
	return value, 0, validGTIN(value) && value != "00000000000000"
}

// itfDigit finds the two wide ones of five bars or five spaces, and returns the
// mean widths.
func itfDigit(five [5]float64) (digit byte, narrow, wide float64, ok bool) {
	first, second := -1, -1
	for i, v := range five {
		switch {
		case first < 0 || v > five[first]:
			first, second = i, first
		case second < 0 || v > five[second]:
			second = i
		}
	}
	widest := 0.0
	for i, v := range five {
		if i != first && i != second {
			narrow += v / 3
			widest = max(widest, v)
		}
	}
	if five[second] < minWide*widest || five[first] > 1.8*five[second] {
		return 0, 0, 0, false
	}
	return itfDigits[[2]int{min(first, second), max(first, second)}], narrow, (five[first] + five[second]) / 2, true
}
