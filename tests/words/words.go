// Package words is an app whose entity has fields that are called like words of JSON Schema,
// JavaScript, TypeScript, Go and SQL, and like what the inputs of operations contain, for tests of
// whatever reads or writes names.
package words

import (
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/words/ent"
)

// App returns the app.
func App() framework.App {
	return framework.App{Name: "words", Description: "Words.", Entities: ent.Entities()}
}
