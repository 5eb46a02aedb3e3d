// Package viewer says who looks at the office's data.
package viewer

import "context"

// Viewer is somebody of one tenant. An admin sees and changes what is of every
// tenant, an auditor sees it.
type Viewer struct {
	Tenant  string
	Admin   bool
	Auditor bool
}

type key struct{}

// With puts a viewer into a context.
func With(ctx context.Context, v Viewer) context.Context { return context.WithValue(ctx, key{}, v) }

// From returns the context's viewer; ok is false where there is none.
func From(ctx context.Context) (v Viewer, ok bool) {
	v, ok = ctx.Value(key{}).(Viewer)
	return v, ok
}
