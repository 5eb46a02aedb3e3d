// Command pantrypal knows what is in the house and what can be cooked from it:
// the sample app of Koan for Go.
//
// What belongs here: the app's parts, put together. What must never: anything
// that a part does.
package main

import (
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/diary"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/seed"
)

func main() { framework.Main(app()) }

func app() framework.App {
	return framework.App{
		Name:        "pantrypal",
		Description: "What is in the house, what can be cooked from it, and what is missing.",
		// Somebody in the household agrees before anything is thrown away.
		Defaults: map[string]string{"approval.mode": "destructive"},
		Entities: ent.Entities(ent.OnClient(diary.Keep), ent.OnCreateSet(seed.Fill)),
	}
}
