// Command shop makes the shop's database and fills it with something to sell.
package main

import (
	"context"
	"log"
	"os"

	"example.org/shop/ent/schema"
	"example.org/shop/money"
	"example.org/shop/store"
)

func main() {
	ctx := context.Background()
	drv, err := store.Driver(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	c := store.Client(drv)
	defer c.Close()
	if err := c.Schema.Create(ctx); err != nil {
		log.Fatal(err)
	}
	drinks := c.Category.Create().SetID("drinks").SetTitle("Drinks").SaveX(ctx)
	c.Product.Create().SetSku("tea").SetName("Tea").SetPrice(money.Cents(350)).SetStatus(schema.OnSale).SetCategory(drinks).ExecX(ctx)
	c.Product.Create().SetSku("milk").SetName("Milk").SetPrice(money.Cents(1020)).SetStatus(schema.OnSale).SetCategory(drinks).ExecX(ctx)
	c.Customer.Create().SetEmail("ann@example.org").SetName("Ann").SetPasswordHash("hash").ExecX(ctx)
}
