package books

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/ledger"
)

// SignIns keeps the sessions of browsers, beside plans (ledger.SignIns).
type SignIns struct{ keys *Keys }

// SignIns returns what keeps the sessions of browsers.
func (k *Keys) SignIns() SignIns { return SignIns{k} }

// Keep is ledger.SignIns.Keep.
func (s SignIns) Keep(ctx context.Context, id, holder, content string, at, since time.Time, most int) error {
	return s.keys.with(ctx, func(l *ledger.Keys) error { return l.SignIns().Keep(ctx, id, holder, content, at, since, most) })
}

// Find is ledger.SignIns.Find.
func (s SignIns) Find(ctx context.Context, id string, since time.Time) (content string, used time.Time, ok bool, err error) {
	err = s.keys.with(ctx, func(l *ledger.Keys) error {
		content, used, ok, err = l.SignIns().Find(ctx, id, since)
		return err
	})
	return content, used, ok, err
}

// Use is ledger.SignIns.Use.
func (s SignIns) Use(ctx context.Context, id string, at time.Time) error {
	return s.keys.with(ctx, func(l *ledger.Keys) error { return l.SignIns().Use(ctx, id, at) })
}

// End is ledger.SignIns.End.
func (s SignIns) End(ctx context.Context, id string) error {
	return s.keys.with(ctx, func(l *ledger.Keys) error { return l.SignIns().End(ctx, id) })
}
