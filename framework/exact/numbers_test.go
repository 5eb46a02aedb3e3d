package exact

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func quoteLarge(text string) string {
	return string(MapNumbers([]byte(text), func(n []byte) []byte {
		if !BeyondDouble(n) {
			return nil
		}
		return append(append([]byte(`"`), n...), '"')
	}))
}

func TestMapNumbers(t *testing.T) {
	for in, want := range map[string]string{
		`9007199254740993`: `"9007199254740993"`, `9007199254740992`: `9007199254740992`, `9999999999999999`: `"9999999999999999"`,
		`[-9007199254740993,1.5e30,"9007199254740993\"",12345678901234567890]`: `["-9007199254740993",1.5e30,"9007199254740993\"","12345678901234567890"]`,
		`{"a":[0.12345678901234567890,true,null]}`:                             `{"a":[0.12345678901234567890,true,null]}`,
	} {
		require.Equal(t, want, quoteLarge(in))
	}
}

func FuzzMapNumbers(f *testing.F) {
	for _, s := range []string{`[1,-2.5e+3,"\\\"9",{"9007199254740993":9007199254740993}]`, `123456789012345678901`, `""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		require.Equal(t, s, string(MapNumbers([]byte(s), func([]byte) []byte { return nil })))
		require.True(t, json.Valid([]byte(quoteLarge(s))), "%s", quoteLarge(s))
	})
}
