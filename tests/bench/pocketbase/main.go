// Command pocketbaserival serves todos with PocketBase, as the REST benchmark's fixture has
// them: a hundred rows, readable by everybody. It prints the address when it listens.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: os.Args[1], HideStartBanner: true})
	if err := fill(app); err != nil {
		log.Fatal(err)
	}
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/ready", func(r *core.RequestEvent) error { return r.String(http.StatusOK, "ok") })
		fmt.Println("http://" + os.Args[2])
		return e.Next()
	})
	if err := apis.Serve(app, apis.ServeConfig{HttpAddr: os.Args[2]}); err != nil {
		log.Fatal(err)
	}
}

func fill(app *pocketbase.PocketBase) error {
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	todo := core.NewBaseCollection("todo")
	open := ""
	todo.ListRule, todo.ViewRule = &open, &open
	todo.Fields.Add(
		&core.TextField{Name: "title", Required: true}, &core.BoolField{Name: "completed"}, &core.SelectField{Name: "priority", Values: []string{"low", "normal", "high"}},
		&core.DateField{Name: "dueDate"}, &core.TextField{Name: "notes"}, &core.JSONField{Name: "tags"}, &core.NumberField{Name: "effort"}, &core.NumberField{Name: "views"},
		&core.NumberField{Name: "version"}, &core.AutodateField{Name: "created", OnCreate: true}, &core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	if err := app.Save(todo); err != nil {
		return err
	}
	for i := range 100 {
		r := core.NewRecord(todo)
		r.Set("id", fmt.Sprintf("t%014d", i))
		r.Set("title", "Buy milk")
		r.Set("priority", "normal")
		if err := app.Save(r); err != nil {
			return err
		}
	}
	return nil
}
