// Package caution is an app with mail, meetings, documents and bills, and with servers of
// mail, files, a bank, the web and a chat outside: what a personal assistant has. Its tests
// prove what injected texts can do there, and what they cannot.
//
// What belongs here: the app's own data. Not here: servers and texts, which are the
// tests'.
package caution

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/caution/ent"
)

// App returns the app. Its default set begins with a few rows.
func App() framework.App {
	return framework.App{
		Name:        "household",
		Description: "Mail, meetings, documents and bills of a household.",
		Entities:    ent.Entities(ent.OnCreateSet(fill)),
	}
}

func fill(ctx context.Context, set string, c *ent.Client) error {
	if set != "default" {
		return nil
	}
	if err := c.Bill.Create().SetID("gas").SetPayee("City Gas").SetAccount("DE02120300000000202051").SetCents(4250).Exec(ctx); err != nil {
		return err
	}
	if err := c.Meeting.Create().SetID("dentist").SetTitle("Dentist").SetStartsAt(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)).Exec(ctx); err != nil {
		return err
	}
	return c.Document.Create().SetID("lease").SetPath("lease.txt").SetText("The lease ends in June.").Exec(ctx)
}
