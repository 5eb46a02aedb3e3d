package entgen

import (
	"slices"

	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
)

// Plain reports whether storing a row of a type is ent's defaults, its validators
// and one statement over the values of the mutation. Hooks and policies stand
// around that; a ValueScanner keeps other values than the mutation has; two rows of
// one type that refer to each other are written together; the feature of schema
// configuration puts tables elsewhere.
func (k kind) Plain() bool {
	elsewhere := slices.ContainsFunc(k.Config.Features, func(f gen.Feature) bool { return f.Name == gen.FeatureSchemaConfig.Name })
	paired := slices.ContainsFunc(k.Edges, func(e *gen.Edge) bool { return e.O2O() && e.Bidi })
	// A type of the app's own that keeps itself as JSON is not what encoding/json
	// would make of it.
	own := slices.ContainsFunc(k.Fields, func(f *gen.Field) bool {
		s, _ := shapeOf(f, &expose.Field{})
		return f.IsOther() && s.Storage == descriptor.JSON && s.Kept
	})
	return k.Entity != nil && !own && !elsewhere && !paired && k.NumHooks() == 0 && k.NumPolicy() == 0 && !k.HasValueScanner() && k.HasOneFieldID()
}
