package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfThings(t *testing.T) {
	for text, want := range map[string]string{
		"assign WEB-4 to Kim":                 "assign issue to Kim",
		"encode it as UTF-8":                  "encode it as UTF 8",
		"swap a word in config.yaml":          "swap a word in file yaml",
		"open /home/me/holiday.jpg, please":   "open file jpg , please",
		"what is in /var/log/nginx?":          "what is in directory ?",
		"what is in ~/Downloads":              "what is in directory",
		"read either and/or both":             "read either and/or both",
		"go to https://example.com/a?b=c#d":   "go to url",
		"open bbc.co.uk in the browser":       "open url in the browser",
		"invite ann@example.com to the call":  "invite email to the call",
		"tell #general that it is done":       "tell channel that it is done",
		"ask @ann about issue #12":            "ask user about issue #12",
		"the street at 48.8584, -2.2945":      "the street at latitude longitude",
		"version 1.2.3 of Node.js, e.g. now":  "version 1.2.3 of Node.js, e.g. now",
		"SDK.Entities.PantryItem.upsert()":    "SDK.Entities.PantryItem.upsert()",
		"customer.id and order.total, 1.5, 2": "customer.id and order.total, 1.5, 2",
	} {
		require.Equal(t, want, strings.Join(strings.Fields(nameThings(text)), " "))
	}
}
