package schema

import (
	"context"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/entql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	gen "github.com/koan-go/koan/tests/office/ent"
	"github.com/koan-go/koan/tests/office/ent/hook"
	"github.com/koan-go/koan/tests/office/ent/intercept"
	"github.com/koan-go/koan/tests/office/ent/privacy"
	"github.com/koan-go/koan/tests/office/viewer"
)

// tenantPolicy keeps tenants apart: who is nobody may do nothing, and who is no
// admin reads and writes what is of the own tenant.
func tenantPolicy() ent.Policy {
	return privacy.Policy{
		Query: privacy.QueryPolicy{known(), admins(), auditors(), ownTenant()},
		Mutation: privacy.MutationPolicy{
			known(), admins(),
			privacy.DocumentMutationRuleFunc(func(ctx context.Context, m *gen.DocumentMutation) error {
				v, _ := viewer.From(ctx)
				if t, ok := m.Tenant(); ok && t != v.Tenant {
					return privacy.Denyf("a document of %s cannot be put into %s", v.Tenant, t)
				}
				if n, ok := m.Pages(); ok && n > 1000 {
					return privacy.Deny
				}
				return privacy.Skip
			}),
			privacy.OnMutationOperation(ownTenant(), ent.OpUpdate|ent.OpUpdateOne|ent.OpDelete|ent.OpDeleteOne),
		},
	}
}

// adminsRead lets everybody write, and admins read.
func adminsRead() ent.Policy {
	return privacy.Policy{Query: privacy.QueryPolicy{
		admins(),
		privacy.QueryRuleFunc(func(context.Context, ent.Query) error { return privacy.Denyf("the log is for admins") }),
	}}
}

func known() privacy.QueryMutationRule {
	return privacy.ContextQueryMutationRule(func(ctx context.Context) error {
		if _, ok := viewer.From(ctx); !ok {
			return privacy.Denyf("nobody is looking")
		}
		return privacy.Skip
	})
}

func admins() privacy.QueryMutationRule {
	return privacy.ContextQueryMutationRule(func(ctx context.Context) error {
		if v, _ := viewer.From(ctx); v.Admin {
			return privacy.Allow
		}
		return privacy.Skip
	})
}

func auditors() privacy.QueryRule {
	return privacy.QueryRuleFunc(func(ctx context.Context, _ ent.Query) error {
		if v, _ := viewer.From(ctx); v.Auditor {
			return privacy.Allow
		}
		return privacy.Skip
	})
}

func ownTenant() privacy.QueryMutationRule {
	return privacy.FilterFunc(func(ctx context.Context, f privacy.Filter) error {
		v, _ := viewer.From(ctx)
		f.Where(entql.FieldEQ("tenant", v.Tenant))
		return privacy.Skip
	})
}

// Marked marks rows when they are deleted, and hides marked ones.
type Marked struct{ mixin.Schema }

// Fields implements ent.Mixin.
func (Marked) Fields() []ent.Field { return []ent.Field{field.Time("deleted_at").Optional()} }

// Interceptors implements ent.Mixin.
func (Marked) Interceptors() []ent.Interceptor {
	return []ent.Interceptor{intercept.TraverseFunc(func(_ context.Context, q intercept.Query) error {
		q.WhereP(sql.FieldIsNull("deleted_at"))
		return nil
	})}
}

// Hooks implements ent.Mixin.
func (Marked) Hooks() []ent.Hook {
	return []ent.Hook{hook.On(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			d, ok := m.(*gen.DocumentMutation)
			if !ok {
				return next.Mutate(ctx, m)
			}
			d.SetOp(ent.OpUpdate)
			d.SetDeletedAt(time.Now())
			return d.Client().Mutate(ctx, m)
		})
	}, ent.OpDeleteOne|ent.OpDelete)}
}
