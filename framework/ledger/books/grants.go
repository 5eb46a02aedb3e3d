package books

import (
	"context"

	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/approve"
)

// grants keeps approvals that last, beside plans.
type grants struct{ keys *Keys }

var _ approve.Grants = grants{}

// Grants returns what keeps approvals that last.
func (k *Keys) Grants() approve.Grants { return grants{k} }

// KeepGrants implements approve.Grants.
func (g grants) KeepGrants(ctx context.Context, given []approve.Grant) error {
	return g.keys.with(ctx, func(l *ledger.Keys) error { return l.Grants().KeepGrants(ctx, given) })
}

// Grants implements approve.Grants.
func (g grants) Grants(ctx context.Context, subject, operation string) (found []approve.Grant, err error) {
	err = g.keys.with(ctx, func(l *ledger.Keys) error {
		found, err = l.Grants().Grants(ctx, subject, operation)
		return err
	})
	return found, err
}

// AllGrants implements approve.Grants.
func (g grants) AllGrants(ctx context.Context) (found []approve.Grant, err error) {
	err = g.keys.with(ctx, func(l *ledger.Keys) error {
		found, err = l.Grants().AllGrants(ctx)
		return err
	})
	return found, err
}

// VoidGrant implements approve.Grants.
func (g grants) VoidGrant(ctx context.Context, void approve.Grant) error {
	return g.keys.with(ctx, func(l *ledger.Keys) error { return l.Grants().VoidGrant(ctx, void) })
}

// DropGrants implements approve.Grants.
func (g grants) DropGrants(ctx context.Context, subject, operation string) (n int, err error) {
	err = g.keys.with(ctx, func(l *ledger.Keys) error {
		n, err = l.Grants().DropGrants(ctx, subject, operation)
		return err
	})
	return n, err
}
