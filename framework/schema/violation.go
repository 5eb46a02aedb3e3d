package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/koan-go/koan/framework/fault"
)

var english = message.NewPrinter(language.English)

// violation returns what a value does not keep to, in the words that entities use for the same.
func violation(of jsonschema.ErrorKind, at string) fault.Detail {
	d := fault.Detail{Path: at}
	switch k := of.(type) {
	case *kind.Type:
		d.Expected, d.Received = strings.Join(k.Want, " or "), k.Got
		d.Message = fmt.Sprintf("must be %s, not %s", d.Expected, d.Received)
	case *kind.Enum:
		d.Expected = oneOf(k.Want)
		d.Message = "must be " + d.Expected + nearestOf(k.Got, k.Want)
	case *kind.Const:
		d.Expected = text(k.Want)
		d.Message = "must be " + d.Expected
	case *kind.Minimum:
		d.Message = fmt.Sprintf("must be at least %s, not %s", number(k.Want), number(k.Got))
	case *kind.Maximum:
		d.Message = fmt.Sprintf("must be at most %s, not %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMinimum:
		d.Message = fmt.Sprintf("must be more than %s, not %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMaximum:
		d.Message = fmt.Sprintf("must be less than %s, not %s", number(k.Want), number(k.Got))
	case *kind.MultipleOf:
		d.Message = fmt.Sprintf("must be a multiple of %s, not %s", number(k.Want), number(k.Got))
	case *kind.MinLength:
		d.Message = size("at least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		d.Message = size("at most", k.Want, "character", k.Got)
	case *kind.MinItems:
		d.Message = size("at least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		d.Message = size("at most", k.Want, "item", k.Got)
	case *kind.MinProperties:
		d.Message = size("at least", k.Want, "member", k.Got)
	case *kind.MaxProperties:
		d.Message = size("at most", k.Want, "member", k.Got)
	case *kind.UniqueItems:
		d.Message = fmt.Sprintf("must have no item twice; %d and %d are the same", k.Duplicates[0], k.Duplicates[1])
	case *kind.Pattern:
		d.Expected = "text that matches " + k.Want
		d.Message = "must match the pattern " + k.Want
		if k.Want == notBlank {
			d.Expected, d.Message = "text", "must not be blank"
		}
	case *kind.Format:
		d.Expected = k.Want
		d.Message = fmt.Sprintf("must be %s, not %s", formatName(k.Want), fault.Clip(text(k.Got), 64))
	case *kind.ContentEncoding:
		d.Expected = k.Want
		d.Message = "must be encoded as " + k.Want
	case *kind.FalseSchema:
		d.Message = "must not be here"
	case *kind.OneOf:
		d.Message = "must have one of the forms of the schema"
		if len(k.Subschemas) > 0 {
			d.Message = "has several of the forms of the schema, and must have one"
		}
	default:
		d.Message = of.LocalizedString(english)
	}
	return d
}

// lacksSubject reports whether a violation's message leaves it to the path to say what it is about.
func lacksSubject(message string) bool {
	return strings.HasPrefix(message, "must ") || strings.HasPrefix(message, "has ")
}

// notBlank is the usual pattern of a text that says something.
const notBlank = `\S`

func size(bound string, want int, unit string, got int) string {
	if want != 1 {
		unit += "s"
	}
	return fmt.Sprintf("must have %s %d %s, not %d", bound, want, unit, got)
}

func oneOf(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = text(v)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + fault.Choices(texts)
}

// nearestOf says which of the values a text was meant to be, if it is near one.
func nearestOf(got any, values []any) string {
	word, ok := got.(string)
	if !ok {
		return ""
	}
	var known []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			known = append(known, s)
		}
	}
	return fault.DidYouMean(word, known)
}

// text returns the JSON of a value.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func number(r *big.Rat) string {
	if r.IsInt() && len(r.Num().String()) < 20 {
		return r.Num().String()
	}
	x, _ := r.Float64()
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// formatName is what people call a format.
func formatName(format string) string {
	if name, ok := formatNames[format]; ok {
		return name
	}
	return "of the format " + format
}

var formatNames = map[string]string{
	"date":      "a day such as 2026-01-31",
	"date-time": "a time with its zone such as 2026-01-31T08:00:00Z",
	"time":      "a time of the day with its zone such as 08:00:00Z",
	"duration":  "a duration such as P3DT12H",
	"email":     "an email address such as ada@example.com",
	"hostname":  "a host name such as www.example.com",
	"ipv4":      "an IPv4 address such as 192.0.2.1",
	"ipv6":      "an IPv6 address such as 2001:db8::1",
	"uri":       "a URI with its scheme such as https://example.com/a",
	"iri":       "an IRI with its scheme such as https://example.com/ä",
	"uuid":      "a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057",
}
