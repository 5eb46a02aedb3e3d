package web

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// A line as the form shows it says what the recipe has: read again, it is the same.
func TestWrittenLinesAreReadAsTheyWere(t *testing.T) {
	data, err := catalogue.Load()
	require.NoError(t, err)
	lines := 0
	for _, r := range data.Recipes {
		for _, want := range r.Ingredients {
			in := ingredient{Name: want.Name, Preparation: want.Preparation, Optional: want.Optional}
			if want.Amount.Valid {
				amount, unit := want.Amount.Decimal.InexactFloat64(), string(want.Unit)
				in.Amount, in.Unit = &amount, &unit
			}
			if want.AmountMax.Valid {
				most := want.AmountMax.Decimal.InexactFloat64()
				in.AmountMax = &most
			}
			got, err := quantity.ParseLine(in.written(), quantity.Metric)
			require.NoError(t, err, in.written())
			require.Equal(t, want.Amount.Valid, got.Amount.Valid, in.written())
			is, was := quantity.Of(got.Amount.Decimal, got.Unit).Canonical(quantity.Metric), quantity.Of(want.Amount.Decimal, want.Unit).Canonical(quantity.Metric)
			require.InDelta(t, was.Value.InexactFloat64(), is.Value.InexactFloat64(), 0.01, in.written())
			require.Equal(t, was.Unit, is.Unit, in.written())
			require.Equal(t, []any{want.AmountMax.Valid, want.Optional, want.Preparation}, []any{got.AmountMax.Valid, got.Optional, got.Preparation}, in.written())
			lines++
		}
	}
	require.Greater(t, lines, 600)
}

func TestStepsAreParagraphs(t *testing.T) {
	require.Equal(t, []string{"Chop.", "Fry."}, paragraphs("Chop.\nFry.\n"))
	require.Equal(t, []string{"Chop, and wait.", "Fry."}, paragraphs("Chop,\r\nand wait.\r\n\r\n\r\nFry."))
	require.Equal(t, []string{}, paragraphs(" \n"))
}

// Of two lines that read the same each stays itself.
func TestLinesThatStandAsTheyStoodStay(t *testing.T) {
	two, unit := 2.0, "piece"
	stored := []ingredient{{ID: "a", Name: "eggs", Amount: &two, Unit: &unit}, {ID: "b", Name: "salt"}, {ID: "c", Name: "eggs", Amount: &two, Unit: &unit}}
	require.Equal(t, []string{"a", "1 tsp salt", "c", "2 eggs"}, linesAgain("2 eggs\n1 tsp salt\n\n 2 eggs \r\n2 eggs", stored))
}
