package migrate

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/fault"
)

// Upgrade is what an app does for a set of an earlier schema, in the transaction of
// its migration.
type Upgrade struct {
	// Before comes ahead of the comparison: what it renames is no table of the schema
	// any more, and stays.
	Before func(ctx context.Context, set string, drv dialect.Driver) error
	// After finds the tables as the schema has them.
	After func(ctx context.Context, set string, drv dialect.Driver) error
}

// upgradable reports whether a set is of an earlier schema, not of a newer build or a
// directory of files.
func (w InPlace) upgradable(v *Verdict) bool {
	return v.State != Current && v.set.Known && !hasFileSteps(v.set) && !hadSchema(v.set, w.Hash)
}

// setAside runs what upgrades do ahead of the comparison, and judges again. Indexes of
// words are made anew, since a renamed table would take their triggers along.
func (w InPlace) setAside(ctx context.Context, drv dialect.Driver, set string) (*Verdict, error) {
	d := dialectOf(drv)
	there, err := column[string](ctx, drv, d.Indexes())
	if err != nil {
		return nil, err
	}
	for _, name := range there {
		for _, s := range d.DropIndex(name) {
			if err := drv.Exec(ctx, s.Text, []any{}, nil); err != nil {
				return nil, err
			}
		}
	}
	for _, u := range w.Upgrades {
		if err := fault.Guard(func() error { return u.Before(ctx, set, drv) }); err != nil {
			return nil, fmt.Errorf("upgrade the data: %w", err)
		}
	}
	return w.judge(ctx, drv)
}
