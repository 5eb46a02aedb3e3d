package schema

import (
	"errors"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/koan-go/koan/framework/schema/subschema"
)

// Formats are the formats that are checked where formats are; every other one only describes
// its values. `regex` is not among them: it means the expressions of ECMAScript, which Go does
// not read.
var Formats = []string{
	"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "iri", "iri-reference", "json-pointer",
	"relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid",
}

// useFormats has a compiler check the formats of a schema, which it changes, or none of them.
func useFormats(c *jsonschema.Compiler, doc any, check bool) {
	subschema.Each(doc, func(_ string, s map[string]any) {
		if name, ok := s["format"].(string); ok && (!check || !slices.Contains(Formats, name)) {
			delete(s, "format") // drafts before 2019-09 check it unasked
		}
	})
	if check {
		c.AssertFormat()
		c.AssertContent()
		c.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: dateTime})
		c.RegisterFormat(&jsonschema.Format{Name: "email", Validate: email})
	}
}

// dateTime is stricter than RFC 3339: neither Go nor JavaScript reads the 60th second of a minute.
func dateTime(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return new(time.Time).UnmarshalText([]byte(text))
}

// email takes an address alone, without the name and brackets of a mail's header.
func email(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	a, err := mail.ParseAddress(text)
	if err == nil && (a.Name != "" || strings.HasPrefix(text, "<") || strings.TrimSpace(text) != text) {
		err = errors.New("it is more than an address")
	}
	return err
}
