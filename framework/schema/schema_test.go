package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestHugeNumbersAreReportedByPath(t *testing.T) {
	anything := json.RawMessage(`{}`)
	for text, path := range map[string]string{
		`1e999`:                   "",
		`[1,[2,3e-500]]`:          "/1/1",
		`{"a":[1,{"b/c":1e401}]}`: "/a/1/b~1c",
	} {
		f := fault.From(Check(anything, json.RawMessage(text)))
		require.Equal(t, fault.InvalidPayload, f.Code, text)
		require.Equal(t, path, f.Path, text)
		require.Contains(t, f.Message, "out of range", text)
	}
	require.NoError(t, Check(anything, json.RawMessage(`{"a":[1e300,{"b":-1.5e-300}]}`)))
}
