package approve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// FuzzTextsOfJSON compares the strings that are found with those of the decoder.
func FuzzTextsOfJSON(f *testing.F) {
	for _, seed := range []string{`{"a":["b",1,{"c\"d":"\u00e4\\"}],"":""}`, `"\\"`, `["\ud800"]`, `[]`, `"{\"inner\":\"text\"}"`, `"a\nb"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			eachText(json.RawMessage(text), maxNested, func(string) {}) // must end
			return
		}
		var got, want []string
		eachText(json.RawMessage(text), 0, func(s string) { got = append(got, s) })
		d := json.NewDecoder(strings.NewReader(text))
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			if s, ok := token.(string); ok {
				want = append(want, s)
			}
		}
		require.Equal(t, want, got)
	})
}

// BenchmarkCarried is what a result of 16 MiB costs, and a call after it.
func BenchmarkCarried(b *testing.B) {
	op := &catalog.Operation{ID: catalog.ID{Kind: catalog.KindUpstream, Owner: "a", Op: "read"}, Contract: catalog.Contract{Untrusted: true}}
	other := &catalog.Operation{ID: catalog.ID{Kind: catalog.KindUpstream, Owner: "b", Op: "write"}}
	for _, lines := range []int{100, 10_000, 90_000} {
		length := (16 << 20) / lines
		var text strings.Builder
		for n := range lines {
			fmt.Fprintf(&text, "line %d %s\n", n, strings.Repeat("x", length-12))
		}
		out, err := json.Marshal(map[string]string{"text": text.String()})
		require.NoError(b, err)
		b.Run(fmt.Sprintf("note/lines=%d", lines), func(b *testing.B) {
			for b.Loop() {
				var s strangers
				s.note(op, "a.read", nil, nil, out)
			}
		})
		for _, size := range []int{200, 1 << 20} {
			input, err := json.Marshal(map[string]string{"text": strings.Repeat("some words ", size/11)})
			require.NoError(b, err)
			var s strangers
			s.note(op, "a.read", nil, nil, out)
			b.Run(fmt.Sprintf("look/lines=%d/input=%d", lines, size), func(b *testing.B) {
				for b.Loop() {
					s.in(other, input, nil)
				}
			})
		}
	}
}
