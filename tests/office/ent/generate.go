// Package ent is the generated code of the office, an app with rules: policies,
// a mixin for deletes that only mark, and a field that not everybody may read.
// Only the schemas, this file and entc.go are written by hand.
//
// The schemas import this package, so a koan.go that does not fit the engine any
// more would stand in the way of the one that does.
package ent

//go:generate rm -f koan.go
//go:generate go run -mod=mod entc.go
