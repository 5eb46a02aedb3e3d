// Package growth is an app in two versions, for tests of what happens to data when
// an app's schema grows: the second has more fields, an index and an entity that
// notes refer to. Running the first on data of the second is the way back.
package growth

import (
	"github.com/koan-go/koan/framework"
	v1 "github.com/koan-go/koan/tests/growth/v1/ent"
	v2 "github.com/koan-go/koan/tests/growth/v2/ent"
)

// App returns a version of the app, 1 or 2.
func App(version int) framework.App {
	shim := v1.Entities()
	if version == 2 {
		shim = v2.Entities()
	}
	return framework.App{
		Name:        "growth",
		Version:     map[int]string{1: "1.0.0", 2: "2.0.0"}[version],
		Description: "Notes, in two versions.",
		Entities:    shim,
	}
}
