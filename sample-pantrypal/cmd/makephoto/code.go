package main

import (
	"fmt"

	"github.com/koan-go/koan/plugins/vision/testphotos"
)

// modules returns a code's bars, 1 is dark.
func modules(code string) (string, error) {
	format, ok := map[int]string{13: "ean13", 12: "upca", 8: "ean8"}[len(code)]
	if !ok {
		return "", fmt.Errorf("the code %q has %d characters; want 13, 12 or 8 digits", code, len(code))
	}
	bars, err := testphotos.Code{Format: format, Text: code}.Modules()
	if err != nil {
		return "", fmt.Errorf("the code %q: %w", code, err)
	}
	return bars, nil
}
