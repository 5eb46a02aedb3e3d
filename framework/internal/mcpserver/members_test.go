package mcpserver

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/internal/invoke"
)

// FuzzElements compares elements with what encoding/json finds in an array.
func FuzzElements(f *testing.F) {
	for _, seed := range []string{`[]`, ` [ ] `, `[1,"]",[2, {"a":"["}] , null ]`, "[\t-1.5e3\n,true\r]", `{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want, got []json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		elements(text, func(value json.RawMessage) bool { got = append(got, value); return true })
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, string(want[i]), string(got[i]))
		}
	})
}

// FuzzMembers compares members with what encoding/json finds in an object.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "a" : 1 , "b":[1,{"c":"]}"}],"c":"\"}","d":null, "e":-1.5e3 ,"a":true}`, `{"\u0061\n":"\\","":{}}`, `[]`, `"{"`, `1`, ` `, "\t{\"a\":[\r\n]}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			return
		}
		var want map[string]json.RawMessage
		object := json.Unmarshal(text, &want) == nil && want != nil
		got := map[string]json.RawMessage{}
		require.Equal(t, object, members(text, func(name []byte, value json.RawMessage) { got[string(name)] = value }))
		if !object {
			return
		}
		require.Equal(t, len(want), len(got))
		for name, value := range want {
			require.Equal(t, string(value), string(got[name]))
		}
	})
}

// FuzzQuoted compares appendQuoted with what encoding/json writes.
func FuzzQuoted(f *testing.F) {
	f.Add([]byte("a\"\\\x00\x1f\n\r\t\b\f\x7f<>&é\u2028\u2029\xff\xf0\x9f\x98\x80\xe2\x80"))
	f.Fuzz(func(t *testing.T, text []byte) {
		want, err := invoke.Encode(string(text))
		require.NoError(t, err)
		require.Equal(t, string(want), string(appendQuoted(nil, text)))
	})
}

// FuzzCallResult checks that a result is on the wire what encoding/json makes of its
// parts.
func FuzzCallResult(f *testing.F) {
	f.Add([]byte(`{"a":"<b>"}`), `{"runId":"x"}`, true, true, false)
	f.Add([]byte(`{"a":[1, 2]}`), ``, false, false, true)
	f.Fuzz(func(t *testing.T, body []byte, about string, modern, failed, media bool) {
		compact, ok := compacted(body, false)
		if !ok || !utf8.Valid(body) || about != "" && !json.Valid([]byte(about)) {
			return
		}
		r := callResult{body: compact, failed: failed}
		if about != "" {
			about, _ := compacted([]byte(about), false)
			r.run = about
		}
		if modern {
			r.server = json.RawMessage(`{"name":"n","version":"1"}`)
		}
		want := map[string]any{"structuredContent": json.RawMessage(compact), "content": []any{textContent{"text", string(compact)}}}
		if media {
			r.content = []json.RawMessage{json.RawMessage(`{"type":"image","data":"AA==","mimeType":"image/png"}`), json.RawMessage(`{"type":"text","text":"x"}`)}
			want["content"] = r.content
		}
		meta := map[string]any{}
		if r.run != nil {
			meta[runMeta] = r.run
		}
		if modern {
			meta["io.modelcontextprotocol/serverInfo"], want["resultType"] = r.server, "complete"
		}
		if len(meta) > 0 {
			want["_meta"] = meta
		}
		if failed {
			want["isError"] = true
		}
		expected, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": want})
		require.NoError(t, err)
		got := encodeResponse(json.RawMessage(`1`), r, nil)
		require.False(t, bytes.ContainsAny(got, "\n"))
		require.JSONEq(t, string(expected), string(got))
	})
}
