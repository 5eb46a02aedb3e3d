package model

import (
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
)

// DriverValue returns a value of ent's as ent passes it to the driver.
func DriverValue(c *descriptor.Column, v any) (any, error) {
	if c.Storage != descriptor.JSON || c.Form != nil {
		return v, nil
	}
	if _, done := v.(shim.Bound); done {
		return v, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", c.Field, err)
	}
	return json.RawMessage(raw), nil
}
