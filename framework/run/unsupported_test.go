package run_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// TestRunRejectsUnsupportedSpec checks that what no participant provides is rejected, not ignored.
func TestRunRejectsUnsupportedSpec(t *testing.T) {
	h := newHouse(t, run.Options{})
	h.spec.Approval = approval.Writes
	_, err := h.script(t.Context(), func(context.Context, *run.Attempt) (run.Return, error) {
		t.Error("it ran")
		return run.Return{}, nil
	})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.Equal(t, "/approval", fault.From(err).Path)
}

func TestKeyRequiresLedger(t *testing.T) {
	h := newHouse(t, run.Options{})
	h.spec.IdempotencyKey = "k"
	_, err := h.script(t.Context(), func(context.Context, *run.Attempt) (run.Return, error) {
		t.Error("it ran")
		return run.Return{}, nil
	})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.Equal(t, "/idempotencyKey", fault.From(err).Path)
}
