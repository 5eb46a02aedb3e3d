package restapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// form is how a query parameter is written.
type form uint8

const (
	plainText  form = iota // the value is the text
	jsonValue              // JSON; what does not begin like it is the text, and the operation says what is wrong with that
	textOrJSON             // JSON if it begins like an object or a list, else the text
)

// forms are those of the parameters that are not plain text.
var forms = map[string]form{
	"filter": jsonValue, "page": jsonValue, "pageSize": jsonValue, "count": jsonValue,
	"sort": textOrJSON, "fields": textOrJSON, "with": textOrJSON,
}

// decodeQuery reads the query parameters of a request as the members of an operation's input.
// It reports all that are unknown or there twice.
func decodeQuery(raw string, known []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if raw == "" {
		return out, nil
	}
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.Invalid(fault.Detail{Message: "the query string cannot be read: " + fault.Clip(err.Error(), 200)}).
			WithHint("Separate parameters with `&`, and encode their values (curl: -G --data-urlencode).")
	}
	var wrong []fault.Detail
	hint := "Write the value as JSON, and encode it (curl: -G --data-urlencode)."
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := "/" + fault.Step(name)
		value, flaw := parameter(forms[name], given[name][0])
		switch values := given[name]; {
		case !slices.Contains(known, name):
			wrong = append(wrong, fault.Detail{Path: at, Message: "unknown query parameter " + catalog.Quote(fault.Clip(name, 64)) + fault.DidYouMean(name, known)})
		case len(values) > 1:
			wrong = append(wrong, fault.Detail{Path: at, Message: "the query parameter " + catalog.Quote(name) + " is there more than once"})
		case !utf8.ValidString(values[0]):
			wrong = append(wrong, fault.Detail{Path: at, Message: "the query parameter " + catalog.Quote(name) + " is not UTF-8"})
		case flaw != "":
			wrong = append(wrong, fault.Detail{Path: at, Message: "the query parameter " + catalog.Quote(name) + " is not JSON: " + flaw})
			continue
		default:
			out[name] = value
			continue
		}
		hint = "This path takes " + takes(known) + "."
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...).WithHint("%s", hint)
	}
	return out, nil
}

func takes(known []string) string {
	if len(known) == 0 {
		return "no query parameters"
	}
	return "the query parameters " + strings.Join(known, ", ")
}

// parameter returns a value as JSON, or what is wrong with one that begins like JSON and is not.
func parameter(f form, value string) (json.RawMessage, string) {
	trimmed := strings.TrimSpace(value)
	begins := strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")
	if f == plainText || f == textOrJSON && !begins {
		return text(value), ""
	}
	if given := json.RawMessage(trimmed); json.Valid(given) {
		return given, ""
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal([]byte(trimmed), new(json.RawMessage)); errors.As(err, &syntax) && (begins || strings.HasPrefix(trimmed, `"`)) {
		return nil, atByte(syntax, strings.Index(value, trimmed))
	}
	return text(value), ""
}

// atByte says what is wrong with a text that is not JSON, and where: before is how many bytes of it
// the parser has not seen.
func atByte(err *json.SyntaxError, before int) string {
	return fmt.Sprintf("%s at byte %d", err.Error(), err.Offset+int64(before))
}

// text is a JSON string.
func text(s string) json.RawMessage { return exact.AppendString(nil, strings.ToValidUTF8(s, "\uFFFD")) }

// object is the JSON of members, in the order of their names.
func object(members map[string]json.RawMessage) json.RawMessage {
	b := append(make([]byte, 0, 128), '{')
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(exact.AppendString(b, name), ':'), members[name]...)
	}
	return append(b, '}')
}
