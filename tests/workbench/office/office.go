// Package office is the app of the WorkBench data set: mail, calendar, customers, tasks and
// visits, which stand still at one moment.
//
// What belongs here: the app's parts, put together. Not here: what a script does.
package office

import (
	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/workbench/ent"
	"github.com/koan-go/koan/tests/workbench/ent/schema"
	"github.com/koan-go/koan/tests/workbench/seed"
)

// App returns the app. Its default set begins with the tables in the folder seed.Key.
func App() framework.App {
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
