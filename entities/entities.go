// Package entities serves the entities of ent schemas: the provider of their operations.
// Package framework puts it into every app that has entities; apps import expose in their
// schemas, entgen in ent/entc.go, and what their generated code needs.
//
// What belongs here: the door. What must never: what it opens (internal/engine and the
// packages beside it).
package entities

import (
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/shim"
)

type (
	// Options are what an app says about its entities beside their schemas.
	Options = engine.Options
	// Provider serves entities. Make one with Provide.
	Provider = engine.Provider
)

// Provide returns the provider of an app's entities.
func Provide(app *shim.App, o Options) *Provider { return engine.Provide(app, o) }
