package mutation

import (
	"context"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
)

// Prepare does to a mutation what is done to all of them, and returns what is left to do.
func Prepare(k *model.Kind, m ent.Mutation, next ent.Mutator, spoken string) (ent.Mutator, error) {
	if k.Bump != nil && m.Op().Is(ent.OpUpdate|ent.OpUpdateOne) {
		k.Bump(m)
	}
	if err := NormalizeTimes(k, m); err != nil {
		return nil, err
	}
	return checkingValues(k, checkingDays(k, next), spoken), nil
}

type mutatedKey struct{}

// With returns the context of a mutation that is made in a run's transaction.
func With(ctx context.Context, t *Mutations) context.Context {
	return context.WithValue(ctx, mutatedKey{}, t)
}

// mutatedIn returns the transaction of the run that the innermost mutation of ctx is made in, nil
// outside of a run.
func mutatedIn(ctx context.Context) *Mutations {
	t, _ := ctx.Value(mutatedKey{}).(*Mutations)
	if t == nil || t.SQL.Ended() {
		return nil
	}
	return t
}
