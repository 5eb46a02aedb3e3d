package model

import (
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
)

// Unfit says why callers could not send a value, in JSON, for a field; "" where they could. It
// is asked before there is an app, so what a Go type or a validator of the app's own
// demands is not in it.
func Unfit(c *descriptor.Column, f *catalog.Field, raw json.RawMessage) string {
	r, err := newRules(f)
	if err != nil {
		return err.Error()
	}
	v, err := filter.Decode(raw)
	if err != nil {
		return err.Error()
	}
	shown := *f
	shown.Sensitive = false // the value is the schema's, and no secret of a row
	shown.Example = nil     // it may be the very value
	d := decoder{kind: &Kind{rules: map[string]rules{f.Name: r}}}
	d.value(c, &shown, v, "")
	if len(d.details) == 0 {
		return ""
	}
	first := d.details[0]
	if first.Expected != "" && !strings.HasSuffix(first.Message, first.Expected) {
		return first.Message + "; it takes " + first.Expected
	}
	return first.Message
}
