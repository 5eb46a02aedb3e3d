package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// Whoever starts an app reads what keeps it from starting: the app's own error
// while it fills a set, for example.
func TestWithCauseAndHint(t *testing.T) {
	plain := errors.New("plain")
	require.Same(t, plain, withCauseAndHint(plain))

	filling := fault.New(fault.ServiceUnavailable, "the set cannot be opened").WithHint("Look.").Because(errors.New("no rows today"))
	got := withCauseAndHint(fmt.Errorf("entities: %w", filling))
	require.EqualError(t, got, "entities: service_unavailable: the set cannot be opened\n  because: no rows today\n  hint: Look.")
	require.ErrorIs(t, got, filling)

	said := fault.New(fault.ServiceUnavailable, "no server: refused").WithHint("Start it.").Because(errors.New("dial: \n\trefused"))
	require.EqualError(t, withCauseAndHint(said), "service_unavailable: no server: refused\n  hint: Start it.")
}
