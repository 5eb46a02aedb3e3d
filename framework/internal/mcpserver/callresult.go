package mcpserver

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// callResult is the result of tools/call. It is written by hand: what it has is JSON
// already, and a call that returns a row should cost little more than the row.
type callResult struct {
	run      json.RawMessage   // what is true of the run, nil for nothing
	position string            // how far the data had come, "" for nothing
	server   json.RawMessage   // who answers; in the modern era only, where every result says so
	content  []json.RawMessage // what the operation presents; nil is the body as a text
	body     json.RawMessage   // compact JSON
	failed   bool
	wanted   []string // scopes that the call lacked, for the transport's challenge
}

// answering is the message that answers a request with the result.
func (r callResult) answering(id json.RawMessage) []byte {
	b := make([]byte, 0, 64+len(id)+r.size())
	b = append(append(append(b, `{"jsonrpc":"`+mcp.JSONRPC_VERSION+`","id":`...), id...), `,"result":`...)
	return append(r.appendTo(b), '}')
}

// size is about how many bytes the result takes.
func (r callResult) size() int {
	size := 128 + len(r.run) + len(r.server) + 2*len(r.body) + len(r.body)/4
	for _, c := range r.content {
		size += len(c) + 1
	}
	return size
}

// appendTo appends the result itself.
func (r callResult) appendTo(b []byte) []byte {
	b = append(b, '{')
	if r.run != nil || r.server != nil || r.position != "" {
		b = append(b, `"_meta":{`...)
		if r.run != nil {
			b = append(append(append(b, `"`+runMeta+`":`...), r.run...), ',')
		}
		if r.position != "" {
			b = append(append(append(b, `"`+versionMeta+`":"`...), r.position...), `",`...)
		}
		if r.server != nil {
			b = append(append(append(b, `"`+mcp.MetaKeyServerInfo+`":`...), r.server...), ',')
		}
		b = append(b[:len(b)-1], `},`...)
	}
	if r.server != nil {
		b = append(b, `"resultType":"`+string(mcp.ResultTypeComplete)+`",`...)
	}
	b = append(b, `"content":[`...)
	for i, c := range r.content {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, c...)
	}
	if r.content == nil {
		b = append(appendQuoted(append(b, `{"type":"text","text":`...), r.body), '}')
	}
	b = append(append(b, `],"structuredContent":`...), r.body...)
	if r.failed {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

// compacted returns JSON without blanks; ok is false if raw is not JSON. What proven
// operations return is known to be JSON, and most of it has no blanks.
func compacted(raw json.RawMessage, proven bool) (out json.RawMessage, ok bool) {
	if proven && isCompact(raw) {
		return raw, true
	}
	b := bytes.NewBuffer(make([]byte, 0, len(raw)))
	if json.Compact(b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// isCompact reports whether JSON has no blanks between its values, and no control
// characters anywhere, so that it fits a line.
func isCompact(text []byte) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ', c == ' ' && !quoted:
			return false
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		}
	}
	return len(text) > 0 && !quoted
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends a text as a JSON string, as invoke.Encode writes it.
func appendQuoted(b, text []byte) []byte {
	b = append(b, '"')
	plain := 0 // start of the text that is written unchanged
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, text[plain:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, `\b`...)
			case '\f':
				b = append(b, `\f`...)
			case '\n':
				b = append(b, `\n`...)
			case '\r':
				b = append(b, `\r`...)
			case '\t':
				b = append(b, `\t`...)
			default:
				b = append(b, `\u00`...)
				b = append(b, hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, text[plain:i]...), `\ufffd`...)
			plain = i + size
		case r == '\u2028' || r == '\u2029': // line ends to JavaScript
			b = append(append(b, text[plain:i]...), `\u202`...)
			b = append(b, hexDigits[r&15])
			plain = i + size
		}
		i += size
	}
	return append(append(b, text[plain:]...), '"')
}
