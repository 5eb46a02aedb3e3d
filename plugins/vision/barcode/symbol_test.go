package barcode

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// widthsOf returns the bars and spaces of a code as its encoder draws it.
func widthsOf(t *testing.T, p print) []float64 {
	t.Helper()
	m := matrixOf(t, p)
	var out []float64
	dark := false
	for x := range m.GetWidth() {
		if m.Get(x, 0) != dark {
			dark = !dark
			out = append(out, 0)
		}
		if len(out) > 0 {
			out[len(out)-1]++
		}
	}
	if !dark {
		out = out[:len(out)-1] // the quiet zone
	}
	return out
}

func withCheckDigit(body string) string {
	for d := range 10 {
		if s := body + fmt.Sprint(d); validGTIN(s) {
			return s
		}
	}
	panic(body)
}

// What another encoder writes is read, also where ink has spread.
func TestDecodersAgainstEncoder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) (s string) {
		for range n {
			s += fmt.Sprint(random.IntN(10))
		}
		return s
	}
	spread := func(w []float64) []float64 {
		by := 0.3 * (random.Float64() - 0.5)
		for i := range w {
			if i%2 == 0 {
				w[i] += by
			} else {
				w[i] -= by
			}
		}
		return w
	}
	for range 300 {
		code := withCheckDigit(digits(12))
		value, _, ok := decodeEAN13(spread(widthsOf(t, print{format: EAN13, text: code})))
		require.True(t, ok, code)
		require.Equal(t, code, value)

		code = withCheckDigit(digits(7))
		value, _, ok = decodeEAN8(spread(widthsOf(t, print{format: EAN8, text: code})))
		require.True(t, ok, code)
		require.Equal(t, code, value)

		code = withCheckDigit(digits(13))
		value, _, ok = decodeITF14(spread(widthsOf(t, print{format: ITF, text: code})))
		require.True(t, ok, code)
		require.Equal(t, code, value)

		short := fmt.Sprint(random.IntN(2)) + digits(6)
		long := expandUPCE(short + "0")
		code = short + withCheckDigit(long[:11])[11:]
		value, text, _, ok := decodeUPCE(spread(widthsOf(t, print{format: UPCE, text: code})))
		require.True(t, ok, code)
		require.Equal(t, code, text)
		require.Equal(t, "0"+expandUPCE(code), value)

		var letters []byte
		for range 3 + random.IntN(20) {
			letters = append(letters, byte(32+random.IntN(95)))
		}
		letters = append(letters, digits(random.IntN(9))...) // makes the encoder change its set
		text, n, _, ok := decodeCode128(spread(widthsOf(t, print{format: Code128, text: string(letters)})))
		require.True(t, ok, "%q", letters)
		require.Equal(t, string(letters), text)
		require.Equal(t, 1, n%6)
	}
}

// Every symbol is another, and has 11 modules.
func TestCode128Symbols(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range code128Widths {
		sum := 0
		for _, c := range w {
			sum += int(c - '0')
		}
		require.Equal(t, 11, sum, w)
		require.False(t, seen[w], w)
		seen[w] = true
	}
	require.Len(t, code128Widths, 107)
}

func TestITFOtherLengths(t *testing.T) {
	for _, code := range []string{"12", "123456", "1234567895", "123456789012"} {
		found := detect(t, draw(t, sheet{width: 560, height: 200, noise: 3, prints: []print{{format: ITF, text: code, module: 3, x: 280, y: 100}}}))
		require.Empty(t, found, code)
	}
	wrong := "15400141288764" // its check digit is 3
	require.Empty(t, detect(t, draw(t, sheet{width: 560, height: 200, noise: 3, prints: []print{{format: ITF, text: wrong, module: 3, x: 280, y: 100}}})))
}

// FuzzLine: whatever the widths of bars are, what is read has its check digit.
func FuzzLine(f *testing.F) {
	f.Add([]byte("1112311"), uint8(3))
	f.Fuzz(func(t *testing.T, widths []byte, scale uint8) {
		l := &line{}
		at := 40.0
		for _, w := range widths[:min(len(widths), 300)] {
			l.edges = append(l.edges, at)
			at += float64(w) * float64(scale) / 64
		}
		l.values = make([]float64, int(min(at+40, 1e6)))
		for _, h := range l.decode(nil) {
			require.NotEmpty(t, h.value)
			if h.format != Code128 {
				require.True(t, validGTIN(h.value), h.value)
			}
		}
	})
}
