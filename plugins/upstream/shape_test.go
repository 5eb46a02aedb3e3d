package upstream

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzShape checks that no JSON is rejected, however it arrives.
func FuzzShape(f *testing.F) {
	for _, text := range []string{`{"id":1,"result":{"a":[true,false,null,-1.5e+3,"é\"\\\u0041{[,}"]}}`, `{"id":"x"}`, `{"id":1,"result":{"mean":NaN}}`, `{"a":[1,]}`, `{"a":1`, `{'a':1}`, "{\"a\":\"\xff\"}"} {
		f.Add([]byte(text), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var s shape
		if cut = min(max(cut, 0), len(text)); cut > 0 {
			s.take(text[:cut])
		}
		s.take(text[cut:])
		if json.Valid(text) && len(text) < maxNested {
			require.NoError(t, s.unreadable())
		}
	})
}

func TestShapesThatAreNoJSON(t *testing.T) {
	for _, text := range []string{`{"mean":NaN}`, `{"a":-Infinity}`, `{"a":undefined}`, `{'a':1}`, `{"a":[1,]}`, `{"a":1,}`, `{"a":"x`, `{"a":{"b":1}`} {
		var s shape
		s.take([]byte(text))
		require.ErrorIs(t, s.unreadable(), errNotJSON, text)
	}
}
