package codemode

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// FuzzDiscoveryArguments reads what a script hands to discovery.
func FuzzDiscoveryArguments(f *testing.F) {
	for _, s := range []string{`["koan",null]`, `["x",{"detail":"full","limit":3}]`, `["x",{"detail":7,"serverId":[],"limit":-1}]`, `[1,2]`, `[]`, `{}`, `["x",{"detail":null}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var args []json.RawMessage
		if json.Unmarshal([]byte(raw), &args) != nil {
			return
		}
		if _, err := textArgument(args, 0, ""); err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		}
		o, err := optionsArgument(args)
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		require.True(t, slices.Contains(details, *o.Detail))
		require.True(t, o.Limit == nil || *o.Limit >= 1)
	})
}
