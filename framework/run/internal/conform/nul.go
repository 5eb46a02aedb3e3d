package conform

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// refuseNUL returns the fault of a JSON text that has strings or names with NUL characters, which no field holds.
func refuseNUL(input json.RawMessage) error {
	if !bytes.Contains(input, []byte(`\u0000`)) { // as JSON has to write it
		return nil
	}
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		return err
	}
	var wrong []fault.Detail
	nulIn(v, "", func(at string) {
		wrong = append(wrong, fault.Detail{Path: at, Message: "must not contain NUL characters"})
	})
	if len(wrong) == 0 {
		return nil
	}
	slices.SortFunc(wrong, func(a, b fault.Detail) int { return strings.Compare(a.Path, b.Path) })
	return fault.Invalid(wrong[:min(len(wrong), fault.MaxFound)]...)
}

func nulIn(v any, at string, found func(at string)) {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			found(at)
		}
	case []any:
		for i, item := range v {
			nulIn(item, at+"/"+strconv.Itoa(i), found)
		}
	case map[string]any:
		for name, item := range v {
			if strings.ContainsRune(name, 0) {
				found(at)
				continue
			}
			nulIn(item, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), found)
		}
	}
}
