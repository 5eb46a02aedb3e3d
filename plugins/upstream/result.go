package upstream

import (
	"bytes"
	"encoding/json"
)

// readResult reads the result of a call, and returns it as the protocol has it. What a server returns in a form of
// its own is not lost: content that is one block, a text or several texts, a result of the protocol before
// 2024-11-05, and an object that is the value itself.
func readResult(raw json.RawMessage) (json.RawMessage, callResult, error) {
	var res callResult
	err := json.Unmarshal(raw, &res)
	odd := err != nil || res.Content == nil && absent(res.Structured)
	for _, block := range res.Content {
		odd = odd || len(block) > 0 && block[0] == '"'
	}
	if !odd {
		return raw, res, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return raw, res, err
	}
	if inner := members["toolResult"]; given(inner) && !given(members["content"]) && !given(members["structuredContent"]) {
		if !isResult(inner) { // a value of any kind
			inner = append(append([]byte(`{"content":[],"structuredContent":`), inner...), '}')
		}
		res = callResult{}
		return inner, res, json.Unmarshal(inner, &res)
	}
	if given(members["content"]) {
		members["content"] = tidyContent(members["content"])
	} else if !given(members["structuredContent"]) {
		tidyValue(members)
	}
	tidy, wrong := json.Marshal(members)
	if wrong != nil {
		return raw, res, err
	}
	res = callResult{}
	return tidy, res, json.Unmarshal(tidy, &res)
}

// isResult reports whether a JSON text is a result of a call.
func isResult(raw json.RawMessage) bool {
	var res callResult
	return json.Unmarshal(raw, &res) == nil && (res.Content != nil || res.Structured != nil)
}

// tidyContent returns content as a list of blocks.
func tidyContent(content json.RawMessage) json.RawMessage {
	blocks := []json.RawMessage{content}
	switch content = bytes.TrimSpace(content); content[0] {
	case '[':
		blocks = nil
		if json.Unmarshal(content, &blocks) != nil {
			return content
		}
	case '{', '"':
	default:
		return content
	}
	for i, b := range blocks {
		if len(b) > 0 && b[0] == '"' {
			blocks[i] = append(append([]byte(`{"type":"text","text":`), b...), '}')
		}
	}
	out, err := json.Marshal(blocks)
	if err != nil {
		return content
	}
	return out
}

// ofResults are the members of a result beside its value.
var ofResults = []string{"_meta", "content", "isError", "resultType", "structuredContent"}

// tidyValue makes the members of a result that has no content its structured content, or the words of its
// failure.
func tidyValue(members map[string]json.RawMessage) {
	value := map[string]json.RawMessage{}
	for name, v := range members {
		value[name] = v
	}
	for _, name := range ofResults {
		delete(value, name)
	}
	if len(value) == 0 {
		return
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	if string(members["isError"]) != "true" {
		members["structuredContent"] = raw
		return
	}
	if text, err := json.Marshal(wordsOf(raw)); err == nil {
		members["content"] = tidyContent(text)
	}
}
