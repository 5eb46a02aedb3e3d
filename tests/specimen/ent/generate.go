// Package ent is the generated code of the specimens, from the schemas in
// schema/. Only the schemas, this file and entc.go are written by hand.
package ent

//go:generate go run -mod=mod entc.go
