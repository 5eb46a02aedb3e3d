// Package broken does not compile.
package broken

import "entgo.io/ent"

// Broken names a type that is not there.
type Broken struct{ ent.Schema }

// Fields of the Broken.
func (Broken) Fields() []ent.Field { return missing() }
