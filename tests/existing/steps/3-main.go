// Command agents serves the shop to agents.
package main

import (
	"context"
	"os"

	"entgo.io/ent/dialect"
	"github.com/koan-go/koan/codemode"
	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework"

	"example.org/shop/ent"
	"example.org/shop/store"
)

func main() {
	open := func(_ context.Context, _ string) (dialect.Driver, error) { return store.Driver(os.Getenv("SHOP_DB")) }
	framework.Main(framework.App{
		Name: "shop",
		Providers: []framework.Provider{
			entities.Provide(ent.Entities(ent.OnClient(store.Rules)), entities.Options{Open: open}),
			codemode.Provide(codemode.Options{}),
		},
	})
}
