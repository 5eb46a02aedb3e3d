// Package shop is an app whose five entities have what clients made from its description find hard:
// decimals, enums, objects, integers that no float64 holds, and relationships in both directions,
// an entity's to itself included.
//
// What belongs here: the app. Not here: what a test expects of it.
package shop

import (
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/shop/ent"
)

// App returns the app.
func App() framework.App {
	return framework.App{Name: "shop", Description: "A shop, its customers and what they order.", Entities: ent.Entities()}
}
