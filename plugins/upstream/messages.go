package upstream

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
)

// envelope is what a JSON-RPC message says of itself.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// isMessage reports whether a JSON object is a message, and not some other output of a server.
func (e *envelope) isMessage() bool {
	return given(e.Method) || given(e.Error) && (e.Version != nil || e.ID != nil) || e.Result != nil && given(e.ID)
}

// given reports whether a member is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// byteOrderMark is what some programs put before UTF-8.
var byteOrderMark = []byte("\ufeff")

// readMessages returns the messages of a JSON text, each on one line and in the form that the client
// library reads: a batch of older versions is several, the id of an answer is a number as it was in the
// request, and an error is an object with a code and a message. owner is the request that an error
// without an id is about, "" for none. It returns nil for a text that is no message.
func readMessages(text []byte, owner string) [][]byte {
	text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), byteOrderMark))
	switch {
	case len(text) == 0, text[0] != '{' && text[0] != '[':
		return nil
	case text[0] == '{':
		if m := readMessage(text, owner); m != nil {
			return [][]byte{m}
		}
		return nil
	}
	var batch []json.RawMessage
	if json.Unmarshal(text, &batch) != nil {
		return nil
	}
	var out [][]byte
	for _, one := range batch {
		if m := readMessage(one, owner); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// readMessage is readMessages of one object.
func readMessage(text []byte, owner string) []byte {
	var e envelope
	if json.Unmarshal(text, &e) != nil || !e.isMessage() {
		return nil
	}
	if bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
		var line bytes.Buffer
		if json.Compact(&line, text) != nil {
			return nil
		}
		text = line.Bytes()
	}
	changed := map[string]json.RawMessage{}
	if !given(e.Method) {
		if id := answeredID(e.ID, owner, given(e.Error)); id != "" {
			changed["id"] = json.RawMessage(id)
		}
	}
	if given(e.Error) {
		if tidy := tidyError(e.Error); tidy != nil {
			changed["error"] = tidy
		}
	}
	if len(changed) == 0 {
		return text
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	for name, value := range changed {
		members[name] = value
	}
	out, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return out
}

// answeredID returns the id that an answer is to have, "" for the one that it has: a number that came
// as a string, and the id of its request for an error that has none or the server's own.
func answeredID(id json.RawMessage, owner string, failed bool) string {
	var text string
	switch {
	case !given(id):
		return owner
	case json.Unmarshal(id, &text) != nil:
		return ""
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return text
	}
	if failed {
		return owner
	}
	return ""
}

// tidyError returns an error as JSON-RPC has it, nil if it is one already.
func tidyError(raw json.RawMessage) json.RawMessage {
	var e struct {
		Code    *int    `json:"code"`
		Message *string `json:"message"`
	}
	if json.Unmarshal(raw, &e) == nil && e.Code != nil && e.Message != nil {
		return nil
	}
	code := mcp.INTERNAL_ERROR
	if e.Code != nil {
		code = *e.Code
	}
	out, err := json.Marshal(map[string]any{"code": code, "message": wordsOf(raw), "data": raw})
	if err != nil {
		return nil
	}
	return out
}

// wordsOf returns what a JSON text says to a person: a string, the member of an object that has the
// words, or else the text itself.
func wordsOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil {
		for _, name := range []string{"message", "error_description", "error", "detail", "title", "reason"} {
			if value := members[name]; given(value) {
				return wordsOf(value)
			}
		}
	}
	return string(raw)
}

// beginsMessage matches where a message may begin in a line that has other words before it.
var beginsMessage = regexp.MustCompile(`\[?\s*\{\s*"(?:jsonrpc|id|method|result|error|params)"\s*:`)

// messagesWithin returns the messages in a line that has other words before, between or behind them,
// those words, and the beginning of a message that the line does not end.
func messagesWithin(line []byte, owner string) (messages [][]byte, words, begun []byte) {
	const most = 32 // places to look at
	for range most {
		at := beginsMessage.FindIndex(line)
		if at == nil {
			break
		}
		d := json.NewDecoder(bytes.NewReader(line[at[0]:]))
		var text json.RawMessage
		err := d.Decode(&text)
		if err != nil && openEnded(line[at[0]:]) {
			return messages, append(words, line[:at[0]]...), line[at[0]:]
		}
		found := readMessages(text, owner)
		if err != nil || found == nil {
			words, line = append(words, line[:at[1]]...), line[at[1]:]
			continue
		}
		messages = append(messages, found...)
		words, line = append(words, line[:at[0]]...), line[at[0]+int(d.InputOffset()):]
	}
	return messages, append(words, line...), nil
}

// openEnded reports whether a text is the beginning of a JSON text that has not ended.
func openEnded(text []byte) bool {
	var s shape
	s.take(text)
	return !s.wrong && (s.depth > 0 || s.inString)
}

// isUnknownMethod reports whether a text is an error without an id that says that a method is not known.
func isUnknownMethod(text []byte) bool {
	var e struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	return json.Unmarshal(text, &e) == nil && !given(e.ID) && e.Error.Code == mcp.METHOD_NOT_FOUND
}

// oneOf returns the only member of a set of requests, "" if there is none or more than one: an error
// without an id can only be about that one.
func oneOf[V any](waiting map[string]V) string {
	if len(waiting) != 1 {
		return ""
	}
	for id := range waiting {
		return id
	}
	return ""
}

// appendLine joins the lines of a message that came on several. A line that ends inside of a string
// ended with a line feed that the server did not escape.
func appendLine(text, line []byte, inString bool) []byte {
	if inString {
		text = append(text, `\n`...)
	} else {
		text = append(text, ' ')
	}
	return append(text, line...)
}
