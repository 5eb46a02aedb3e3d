// Command pantrypal calls PantryPal with the generated client, and prints what it got.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"goclient/api"
)

// as is a value of a type that has several forms, in one of them.
func as[T, V any](set func(*T, V) error, v V) *T {
	var t T
	check(set(&t, v))
	return &t
}

// box reads a field that is an object.
func box(d api.Detection) any { return d.Box.(map[string]any)["x"] }

func main() {
	ctx := context.Background()
	c, err := api.NewClientWithResponses(os.Args[1])
	check(err)
	model := api.PantryItemModel{Name: new("Sourdough starter"), Amount: new(2.0), Place: new(api.PantryItemModelPlaceFridge)}
	_, err = c.PantryItemUpsertWithResponse(ctx, nil, model)
	check(err)
	food := api.FoodFilter{Name: as((*api.FoodFilter_Name).FromStringConditions, api.StringConditions{Icontains: new("milk")})}
	filter := &api.PantryItemFilter{
		Name:   as((*api.PantryItemFilter_Name).FromPantryItemFilterName0, "Sourdough starter"),
		Place:  as((*api.PantryItemFilter_Place).FromPantryItemFilterPlace0, "fridge"),
		Amount: as((*api.PantryItemFilter_Amount).FromFloatConditions, api.FloatConditions{Gt: new(1.0)}),
		Or:     &[]api.PantryItemFilter{{Food: as((*api.PantryItemFilter_Food).FromFoodFilter, food)}, {BestBefore: as((*api.PantryItemFilter_BestBefore).FromPantryItemFilterBestBefore0, "2030-01-01")}, {Amount: as((*api.PantryItemFilter_Amount).FromPantryItemFilterAmount0, 2)}},
	}
	found, err := c.PantryItemQueryWithResponse(ctx, api.PantryItemQueryJSONRequestBody{Filter: filter, With: as((*api.PantryItemWith).FromPantryItemWith0, "food,product,detection")})
	check(err)
	places, err := c.PantryItemAggregateWithResponse(ctx, api.PantryItemAggregateJSONRequestBody{
		GroupBy: as((*api.PantryItemAggregateJSONBody_GroupBy).FromPantryItemAggregateJSONBodyGroupBy0, "place"), Filter: filter,
		Count:  as((*api.PantryItemAggregateJSONBody_Count).FromPantryItemAggregateJSONBodyCount0, true),
		Having: &api.Having{"count": as((*api.HavingTerm).FromHavingTerm1, float64(1))},
	})
	check(err)
	i := found.JSON200.Items[0]
	var where any
	if i.Detection != nil {
		where = box(*i.Detection)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"name": *i.Name, "food": i.Food == nil, "box": where, "places": places.JSON200.Rows}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
