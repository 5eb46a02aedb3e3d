// Package viewer tells the club's rules who the caller is. It is apart from the schemas,
// which know only the annotations of the framework.
package viewer

import (
	"context"

	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/framework/auth"
)

// Trusted lets Ann do everything, and others what their scopes allow.
func Trusted(scope string) privacy.QueryMutationRule {
	return privacy.ContextQueryMutationRule(func(ctx context.Context) error {
		if p := auth.From(ctx); p.Subject == "ann" || p.Has(scope) {
			return privacy.Allow
		}
		return privacy.Denyf("diaries are Ann's")
	})
}
