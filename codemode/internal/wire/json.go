package wire

import (
	"bytes"
	"encoding/json"
)

// Marshal returns the JSON of v without escapes for HTML, so that a result with many `<` keeps
// the size against which its limit was checked, and declarations stay readable. Since
// encoding/json escapes a json.RawMessage again, all output must go through Marshal.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
