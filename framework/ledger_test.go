package framework_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// An app without entities keeps plans, keys and the journal if it says so, and offers no entity then.
func TestAppWithoutEntitiesKeepsLedger(t *testing.T) {
	t.Parallel()
	start := func(ledger bool, flags map[string]string) (*framework.Instance, error) {
		if ledger {
			flags["database"] = "sqlite://" + t.TempDir()
		}
		i, err := framework.New(t.Context(), framework.App{Name: "keeps", Ledger: ledger}, framework.Options{Log: quiet(), Config: framework.Source{Flags: flags}})
		if err == nil {
			t.Cleanup(func() { require.NoError(t, i.Stop(context.Background())) })
		}
		return i, err
	}
	with, err := start(true, map[string]string{"approval.mode": "destructive"})
	require.NoError(t, err)
	require.Empty(t, with.Snapshot().Resources())
	require.True(t, with.Plans().KeepsPlans())
	_, err = with.Runs(auth.With(t.Context(), auth.Local()), journal.Query{Most: 1})
	require.NoError(t, err)

	_, err = start(false, map[string]string{"approval.mode": "destructive"})
	require.ErrorIs(t, err, fault.New(fault.CapabilityUnsupported, ""))
	without, err := start(false, map[string]string{})
	require.NoError(t, err)
	require.False(t, without.Plans().KeepsPlans())
	_, err = without.Runs(auth.With(t.Context(), auth.Local()), journal.Query{Most: 1})
	require.ErrorIs(t, err, fault.New(fault.CapabilityUnsupported, ""))
}
