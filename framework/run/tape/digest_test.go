package tape

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseDigest: a digest is read exactly where it is one that hex writes, in letters of either case.
func FuzzParseDigest(f *testing.F) {
	of := Digest("koan::Todo.patch", []byte(`{}`))
	for _, text := range []string{"", "0", hex.EncodeToString(of[:]), strings.ToUpper(hex.EncodeToString(of[:])), hex.EncodeToString(of[:31]), hex.EncodeToString(of[:]) + "00", strings.Repeat("g", 64)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDigest(text)
		valid := len(text) == 64 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
		require.Equal(t, valid, err == nil, "%v", err)
		if valid {
			require.Equal(t, strings.ToLower(text), hex.EncodeToString(d[:]))
		}
	})
}
