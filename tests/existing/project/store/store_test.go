package store

import (
	"context"
	"path/filepath"
	"testing"

	"example.org/shop/ent/schema"
	"example.org/shop/money"
)

func TestRules(t *testing.T) {
	ctx := context.Background()
	drv, err := Driver(filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	c := Client(drv)
	defer c.Close()
	if err := c.Schema.Create(ctx); err != nil {
		t.Fatal(err)
	}
	tea := c.Product.Create().SetSku("tea").SetName("Tea").SetPrice(money.Cents(350)).SetStatus(schema.OnSale).SaveX(ctx)
	if err := c.Product.DeleteOne(tea).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if n := c.Product.Query().CountX(ctx); n != 0 {
		t.Fatalf("%d products are left", n)
	}
	ann := c.Customer.Create().SetEmail("ann@example.org").SetName("Ann").SaveX(ctx)
	order := c.Order.Create().SetCustomer(ann).SaveX(ctx)
	order.Update().SetState("sent").ExecX(ctx)
	if err := c.Order.UpdateOneID(order.ID).SetState("open").Exec(ctx); err == nil {
		t.Fatal("an order that was sent was opened again")
	}
	if n := c.AuditEntry.Query().CountX(ctx); n != 2 {
		t.Fatalf("%d entries, want 2", n)
	}
}
