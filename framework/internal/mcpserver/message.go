package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/fault"
)

// message is one JSON-RPC message from a client: a request (it has an id), a
// notification, or a response to a request of the server.
type message struct {
	id     json.RawMessage // nil for a notification
	key    string          // the id, comparable
	method string
	params json.RawMessage // an object, or nil
	about  meta            // what the params say about the request
	// Of an answer: one of its result and its failure, which is an error object.
	answer          bool
	result, failure json.RawMessage
}

// parse reads one frame: one message, or several if batch is true. A problem of one
// message of a batch is reported at its place. A batch that is too long counts as one
// message with a problem.
func parse(text []byte) (items []parsed, batch bool) {
	text = bytes.TrimSpace(text)
	if !utf8.Valid(text) {
		return []parsed{{problem: fault.New(fault.ParseError, "the message is not UTF-8")}}, false
	}
	if len(text) == 0 || text[0] != '[' {
		return []parsed{parseOne(text)}, false
	}
	if !json.Valid(text) {
		return []parsed{{problem: fault.New(fault.ParseError, "the message is not JSON: "+jsonProblem(text))}}, false
	}
	elements(text, func(raw json.RawMessage) bool {
		items = append(items, parseOne(raw))
		return len(items) <= maxBatch
	})
	if len(items) > maxBatch {
		return []parsed{{problem: fault.Newf(fault.InvalidRequest, "a batch has at most %d messages", maxBatch)}}, false
	}
	return items, true
}

// maxBatch bounds the messages of a batch. Its responses are sent together, and each may
// be many times as long as its request.
const maxBatch = 100

// parsed is a message, or its problem. message.id is set if it could be read in spite of
// the problem.
type parsed struct {
	message
	problem *fault.Fault
}

func parseOne(text []byte) parsed {
	if !json.Valid(text) {
		return parsed{problem: fault.New(fault.ParseError, "the message is not JSON: "+jsonProblem(text))}
	}
	var p parsed
	var id, version, method, params, result, failure json.RawMessage
	object := members(text, func(name []byte, value json.RawMessage) {
		switch string(name) {
		case "id":
			id = value
		case "jsonrpc":
			version = value
		case "method":
			method = value
		case "params":
			params = value
		case "result":
			result = value
		case "error":
			failure = value
		}
	})
	if !object {
		return parsed{problem: fault.New(fault.InvalidRequest, "a message is a JSON object")}
	}
	refuse := func(why string) parsed {
		p.problem = fault.New(fault.InvalidRequest, why)
		return p
	}
	if id != nil {
		key, ok := idKey(id)
		if !ok {
			return refuse("`id` must be a string or a number")
		}
		p.id, p.key = id, key
	}
	if string(version) != `"`+mcp.JSONRPC_VERSION+`"` {
		return refuse("`jsonrpc` must be \"2.0\"")
	}
	switch answers := result != nil || failure != nil; {
	case method != nil && answers:
		return refuse("a message is a request or an answer, not both")
	case answers:
		p.answer, p.result, p.failure = true, result, failure
		return p
	case method == nil:
		return refuse("`method` is missing")
	}
	if p.method, _ = unquoted(method); p.method == "" {
		return refuse("`method` must be a string that is not empty")
	}
	if params != nil && string(params) != "null" {
		if params[0] != '{' {
			return refuse("`params` must be an object")
		}
		p.params, p.about = params, metaOf(params)
	}
	return p
}

func jsonProblem(text []byte) string {
	if len(text) == 0 {
		return "it is empty"
	}
	var v json.RawMessage
	if err := json.Unmarshal(text, &v); err != nil {
		return err.Error()
	}
	return "it is broken"
}

// idKey makes ids comparable: 1 and 1.0 are the same id, 1 and "1" are not. ok is false
// if it is not an id.
func idKey(id json.RawMessage) (key string, ok bool) {
	if len(id) == 0 {
		return "", false
	}
	if id[0] == '"' {
		s, ok := unquoted(id)
		return "s" + s, ok
	}
	if id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return "", false
	}
	text := string(id)
	if len(text) > 64 {
		return "", false
	}
	if whole := strings.TrimLeft(text, "0123456789"); whole == "" && (id[0] != '0' || len(id) == 1) {
		return "n" + text, true // as nearly all
	}
	if !json.Valid(id) {
		return "", false
	}
	if !strings.ContainsAny(text, ".eE") {
		return "n" + text, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil { // out of range: then the same only in the same spelling
		return "n" + text, true
	}
	return "n" + strconv.FormatFloat(f, 'f', -1, 64), true
}
