package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/exact"
)

// jsonProblem says what is wrong with a value of a JSON field that the databases keep, but that
// not every reader can read: path is where, from the value on, and why is "" where nothing is.
func jsonProblem(v any) (path, why string) { return jsonProblemAt(v, "", 0) }

func jsonProblemAt(v any, at string, depth int) (path, why string) {
	if depth > exact.MaxDepth {
		return "", fmt.Sprintf("is nested deeper than %d levels", exact.MaxDepth)
	}
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return at, "must not contain NUL characters"
		}
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return at, "has a number that is too large: " + filter.Describe(v)
		}
	case []any:
		for i, item := range v {
			if path, why = jsonProblemAt(item, at+"/"+strconv.Itoa(i), depth+1); why != "" {
				return path, why
			}
		}
		if len(v) == 0 {
			return jsonProblemAt(nil, at, depth+1)
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if strings.ContainsRune(name, 0) {
				return at, "must not contain NUL characters"
			}
			if path, why = jsonProblemAt(v[name], at+"/"+filter.Escape(name), depth+1); why != "" {
				return path, why
			}
		}
		if len(v) == 0 {
			return jsonProblemAt(nil, at, depth+1)
		}
	}
	return "", ""
}

// JSONProblem is what is wrong with what the app's code stores in a JSON field, "" for nothing. Only
// values of no type of their own can be nested at will.
func JSONProblem(v any) string {
	raw, isRaw := v.(json.RawMessage)
	switch v.(type) {
	case map[string]any, []any:
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return "is not JSON"
		}
	default:
		if !isRaw || len(raw) == 0 {
			return ""
		}
	}
	decoded, err := filter.Decode(raw)
	if err != nil {
		return "is not JSON"
	}
	_, why := jsonProblem(decoded)
	return why
}
