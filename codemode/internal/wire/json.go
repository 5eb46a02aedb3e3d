package wire

import (
	"bytes"
	"encoding/json"
)

// Marshal returns v's JSON without the escapes that only HTML needs: a result full
// of `<` keeps the size that its limit was checked against, and a declaration
// stays readable. encoding/json escapes them again inside of a json.RawMessage,
// so everything on the way out has to come through here.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
