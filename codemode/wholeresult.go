package codemode

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/framework/catalog"
)

// wholeResult returns what a call for the whole MCP result returns. A server's provider has made that. The result of
// any other operation is as its tool has it: the output as text and as structured content, which is an object.
func wholeResult(id catalog.ID, out json.RawMessage) (json.RawMessage, error) {
	if id.Kind == catalog.KindUpstream {
		return out, nil
	}
	structured := out
	if !bytes.HasPrefix(bytes.TrimSpace(out), []byte("{")) {
		structured = fmt.Appendf(nil, `{"result":%s}`, out)
	}
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type result struct {
		Content           []text          `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	return json.Marshal(struct {
		Value  json.RawMessage `json:"value"`
		Result result          `json:"result"`
	}{out, result{[]text{{"text", string(structured)}}, structured}})
}
