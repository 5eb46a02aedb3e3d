package fault_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestChoicesAreBounded(t *testing.T) {
	require.Equal(t, "low, medium, high", fault.Choices([]string{"low", "medium", "high"}))
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprint("value-number-", i))
	}
	text := fault.Choices(many)
	require.True(t, strings.HasPrefix(text, "value-number-0, value-number-1, "), text)
	require.True(t, strings.HasSuffix(text, "value-number-19 and 580 more"), text)
	require.Equal(t, text[:len(text)-len(" and 580 more")]+", value-number-20", fault.Choices(many[:21]), "one more is no longer")
	require.Less(t, len(fault.Choices([]string{strings.Repeat("x", 5000), "a", "b", "c"})), 500)
	require.Empty(t, fault.Choices(nil))
}
