package kit_test

import (
	"context"
	"math/rand/v2"

	"github.com/koan-go/koan/plugins/kit"
)

type roll struct {
	Sides int `json:"sides" jsonschema:"minimum=2"`
}

type rolled struct {
	Value int `json:"value"`
}

// A plugin is a program. Built as plugins/dice beside the app, this one is the tool dice.roll, and
// SDK.Dice.roll({sides: 6}) in scripts.
func ExampleServe() {
	kit.Serve(kit.Plugin{
		Domain: "dice", Version: "1.0.0", Description: "Rolls dice.",
		Functions: []kit.Function{
			kit.Func("roll", "Roll one die.", func(_ context.Context, _ kit.Call, in roll) (rolled, error) {
				return rolled{1 + rand.IntN(in.Sides)}, nil
			}, kit.ReadOnly(), kit.Example(roll{Sides: 6})),
		},
	})
}
