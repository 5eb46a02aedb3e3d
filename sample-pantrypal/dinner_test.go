package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

type dinner struct {
	Dinner       *string
	Ratio        float64
	UsesSoon     []string
	ToBuy        []string
	Alternatives []string
}

func (k kitchen) dinner(set string) (dinner, *koantest.Result) {
	k.t.Helper()
	r := k.Run(script(k.t, "simple-dinner.js"), koantest.Input{Set: set})
	var d dinner
	r.AnswerInto(&d)
	return d, r
}

func TestSimpleDinner(t *testing.T) {
	k := open(t)
	d, r := k.dinner("")
	require.Equal(t, "Egg Fried Rice", *d.Dinner, "all of it is there, and eggs and carrots expire soon")
	require.Equal(t, 1.0, d.Ratio)
	require.ElementsMatch(t, []string{"eggs", "carrots"}, d.UsesSoon)
	require.Empty(t, d.ToBuy)
	require.Empty(t, r.ChangeCounts, "it reads only")

	k.Run(`SDK.Entities.HouseholdProfile.patch(SDK.Entities.HouseholdProfile.firstPage(1).items[0].id, {allergies: ["eggs"]})`, koantest.Input{})
	d, _ = k.dinner("")
	require.NotNil(t, d.Dinner)
	require.NotContains(t, append(d.Alternatives, *d.Dinner), "Egg Fried Rice")
}

func TestSimpleDinnerWarnsWhenNothingFits(t *testing.T) {
	k := open(t)
	k.Run(`SDK.Entities.PantryItem.deleteMany(SDK.Entities.PantryItem.all().map(i => i.id))`, koantest.Input{})
	for _, set := range []string{"default", "lake-house"} {
		d, r := k.dinner(set)
		require.Nil(t, d.Dinner)
		require.Len(t, r.Logs, 1)
		require.Equal(t, "warn", r.Logs[0].Level)
	}
}
