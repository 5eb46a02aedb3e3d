// Package ent is the generated code of the journal's own entities, KoanRun and
// KoanCall, through which callers read it like anything else. Only the schemas, this
// file and entc.go are written by hand; package ledger makes the tables and writes
// them.
package ent

//go:generate go run -mod=mod entc.go
