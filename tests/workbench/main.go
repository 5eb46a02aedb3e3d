// Command workbench is the office of the WorkBench data set as an app: mail, calendar,
// customers, tasks and visits, which stand still at one moment. Its scripts do what the
// data set's requests ask for.
//
// What belongs here: the app's parts, put together. What must never: what a script does.
package main

import (
	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/workbench/ent"
	"github.com/koan-go/koan/tests/workbench/ent/schema"
	"github.com/koan-go/koan/tests/workbench/seed"
)

func main() { framework.Main(app()) }

func app() framework.App {
	tables := new(seed.Tables)
	data := ent.Entities(ent.OnCreateSet(tables.Fill))
	return framework.App{
		Name:        "workbench",
		Description: "The office of the WorkBench data set: mail, calendar, customers, tasks and visits.",
		Clock:       schema.Now,
		Entities:    data,
		// The tables' folder has to be known before the entities start and fill their set.
		Providers: []framework.Provider{tables, entities.Provide(data, entities.Options{})},
	}
}
