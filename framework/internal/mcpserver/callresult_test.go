package mcpserver

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompactedLeavesCompactOutputAsItIs(t *testing.T) {
	for text, compact := range map[string]bool{
		`{"a":[1,2,{"b":"x y\n\"z"}],"c":null}`: true,
		`[]`:                                    true, `"a \\"`: true, `12`: true,
		`{"a": 1}`: false, "[1,\n2]": false, "{}\n": false, ``: false, "\"a\tb\"": false, `"open`: false,
	} {
		require.Equal(t, compact, isCompact([]byte(text)), text)
		if !compact {
			continue
		}
		raw := json.RawMessage(text)
		out, ok := compacted(raw, true)
		require.True(t, ok)
		require.Same(t, &raw[0], &out[0], text)
	}
	_, ok := compacted(json.RawMessage("[1,\n"), true)
	require.False(t, ok)
	out, ok := compacted(json.RawMessage("[1,\n2]"), true)
	require.True(t, ok)
	require.Equal(t, "[1,2]", string(out))
}

// FuzzIsCompact: JSON is compact exactly where json.Compact has nothing to do.
func FuzzIsCompact(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"b c",{}]}`, `{"a": 1}`, "[1,\n2]", `"\\"`, `"\" "`, "\"\u2028\"", ` 1`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		if json.Compact(&b, []byte(text)) != nil {
			return
		}
		require.Equal(t, b.String() == text, isCompact([]byte(text)), "%q", text)
		require.False(t, isCompact([]byte(text)) && strings.ContainsAny(text, "\r\n"))
	})
}

// BenchmarkAnswer is what it takes to make the answer of a list of 20 rows.
func BenchmarkAnswer(b *testing.B) {
	row := `{"id":"0198c0de-0000-7000-8000-000000004711","title":"Todo number 17","completed":false,"priority":"medium","dueDate":"2026-01-01T17:00:00Z","notes":"Some \"words\" about it.","tags":["a","b"],"effort":4.25,"views":7919,"version":1,"createdAt":"2026-01-01T17:00:00.123456Z","updatedAt":"2026-01-01T17:00:00.123456Z","assignedUserId":null},`
	body := json.RawMessage(`{"items":[` + strings.TrimSuffix(strings.Repeat(row, 20), ",") + `],"page":1,"pageSize":20,"totalCount":10000,"nextCursor":null,"truncated":true}`)
	for name, proven := range map[string]bool{"proven": true, "unproven": false} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				out, _ := compacted(body, proven)
				callResult{body: out}.answering(json.RawMessage("1"))
			}
		})
	}
}
