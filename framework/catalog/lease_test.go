package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestOfferClosesAfterLastLease(t *testing.T) {
	closed := 0
	s, err := catalog.NewSnapshot(catalog.Offer{Closed: func() { closed++ }}, catalog.Offer{})
	require.NoError(t, err)
	one, two := s.Lease(), s.Lease()
	one()
	one()
	require.Zero(t, closed, "it is the current one")
	s.Retire()
	require.Zero(t, closed, "a run uses it")
	late := s.Lease()
	two()
	require.Zero(t, closed)
	late()
	require.Equal(t, 1, closed)
	s.Retire()
	s.Lease()()
	require.Equal(t, 1, closed, "once")
}

func TestOwners(t *testing.T) {
	dice := &catalog.Owner{Kind: catalog.KindPlugin, Name: "dice", Description: "Rolls dice.", Version: "1.2.3"}
	with, err := catalog.NewSnapshot(catalog.Offer{Owners: []*catalog.Owner{dice}})
	require.NoError(t, err)
	require.Same(t, dice, with.Owner(catalog.PluginID("dice", "roll")))
	require.Nil(t, with.Owner(catalog.EntityID("dice", "roll")))
	newer := *dice
	newer.Version = "1.2.4"
	other, err := catalog.NewSnapshot(catalog.Offer{Owners: []*catalog.Owner{&newer}})
	require.NoError(t, err)
	require.NotEqual(t, with.Version(), other.Version(), "callers see it")
}
