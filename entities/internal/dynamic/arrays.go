package dynamic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
)

// arrayOf returns a JSON list as the text by which PostgreSQL reads an array. The server makes of each element what
// the type of the elements wants, and refuses what that does not take.
func arrayOf(c *descriptor.Column, v any) (out shim.Bound, err error) {
	var raw json.RawMessage
	if err := shim.JSON(v, func(sent json.RawMessage) { raw = sent }); err != nil {
		return out, err
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil {
		return out, fmt.Errorf("the column %s has arrays: want a list", c.Name)
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, e := range elements {
		if i > 0 {
			b.WriteByte(',')
		}
		text, null, err := elementText(e)
		if err != nil {
			return out, err
		}
		if null {
			b.WriteString("NULL")
			continue
		}
		b.WriteByte('"')
		_, _ = escapeElement.WriteString(&b, text) // a Builder takes everything
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return shim.Bound{V: b.String()}, nil
}

var escapeElement = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// elementText returns an element of a JSON list as the server reads it by itself: a string without its quotes, and
// everything else as JSON writes it.
func elementText(e json.RawMessage) (text string, null bool, err error) {
	e = bytes.TrimSpace(e)
	switch {
	case string(e) == "null":
		return "", true, nil
	case e[0] == '"':
		err = json.Unmarshal(e, &text)
		return text, false, err
	}
	return string(e), false, nil
}
