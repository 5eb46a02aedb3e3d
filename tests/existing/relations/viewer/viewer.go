// Package viewer says whose tenant calls.
package viewer

import "context"

type key struct{}

// NewContext returns a context in which a tenant calls.
func NewContext(ctx context.Context, tenant int) context.Context {
	return context.WithValue(ctx, key{}, tenant)
}

// Tenant is who calls; 0 for the club's own programs.
func Tenant(ctx context.Context) int {
	tenant, _ := ctx.Value(key{}).(int)
	return tenant
}
