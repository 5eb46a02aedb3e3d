// Package club is an app for tests of who sees what: entities behind scopes, in sets,
// and with annotations of exposure.
package club

import (
	"context"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/club/ent"
)

// App returns the app. The set "default" starts with one member, Ann, who is the guest
// of one event.
func App() framework.App {
	return framework.App{
		Name:        "club",
		Version:     "1.0.0",
		Description: "What takes place in a club.",
		Entities:    ent.Entities(ent.OnCreateSet(first)),
	}
}

func first(ctx context.Context, set string, c *ent.Client) error {
	if set != "default" {
		return nil
	}
	ann, err := c.Member.Create().SetID("ann").SetName("Ann").SetPhone("12345").Save(ctx)
	if err != nil {
		return err
	}
	return c.Event.Create().SetID("opening").SetTitle("Opening").AddGuests(ann).Exec(ctx)
}
