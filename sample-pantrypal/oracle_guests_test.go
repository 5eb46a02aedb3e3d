package main

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// veganGuest takes the dinners from the answer: each suits the household and the guest, three
// portions of it are at least half in the house, and there are three unless fewer would do.
func (o oracle) veganGuest(t *testing.T, told string) any {
	var dinners [][]any
	require.NoError(t, json.Unmarshal([]byte(told), &dinners))
	fits := func(r catalogue.Recipe) bool {
		lines := 0.0
		for _, line := range r.Ingredients {
			f, _ := o.Food(line.Food)
			if !slices.Contains(f.Diets, "vegan") || slices.Contains(f.Allergens, "nuts") {
				return false
			}
			if !line.Optional {
				lines++
			}
		}
		return float64(len(o.lacks(t, map[string]float64{r.Name: 3}))) <= lines/2
	}
	suitable, all := o.suitable(t, ""), 0
	for name := range suitable {
		if fits(o.recipe(t, name)) {
			all++
		}
	}
	require.Len(t, dinners, min(3, all))
	out := [][]any{}
	for _, d := range dinners {
		name := d[0].(string)
		require.Contains(t, suitable, name)
		require.True(t, fits(o.recipe(t, name)), name)
		out = append(out, []any{name, 3})
	}
	return out
}

// The pancakes are for three and take two eggs, of three that there are; they are no dinner.
func (o oracle) breakfast(t *testing.T, _ string) any {
	require.NotContains(t, o.recipe(t, "Pancakes").Meals, "dinner")
	return []any{"breakfast", nil, math.Round((3-2*2.0/3)*1000) / 1000}
}

// There are no aubergines in the house, and nobody sells a part of one.
func (o oracle) aubergines(t *testing.T, _ string) any {
	r := o.recipe(t, "Moussaka")
	for _, line := range r.Ingredients {
		if line.Food == "Aubergine" {
			return strconv.Itoa(int(math.Ceil(line.Amount.Decimal.InexactFloat64()*4/float64(r.Servings)))) + " " + string(line.Unit)
		}
	}
	t.Fatal("a moussaka without aubergines")
	return nil
}

// coffee was not bought in this year: its prices are from the shelves.
func (o oracle) coffee(t *testing.T, _ string) any {
	out := [][]any{}
	for store, list := range o.perKilo("Coffee") {
		out = append(out, []any{store, cents(each(list[len(list)-1]))})
	}
	require.NotEmpty(t, out)
	sort.Slice(out, func(i, j int) bool { return out[i][1].(float64) < out[j][1].(float64) })
	return out
}

func (o oracle) pounds(*testing.T, string) any { return 3 * 453.59237 }

func (o oracle) lakeCoffee(*testing.T, string) any {
	out := [][]any{}
	for _, l := range o.Households[1].Lots {
		if l.Food == "Coffee" {
			out = append(out, []any{l.Amount.InexactFloat64(), string(l.Unit)})
		}
	}
	return out
}

// Monday is 23 November, so Friday of next week is 4 December.
func (o oracle) nextFriday(t *testing.T, _ string) any {
	friday := monday().AddDate(0, 0, 11)
	require.Equal(t, time.Friday, friday.Weekday())
	return []any{friday.Format(time.DateOnly), 6, true}
}
