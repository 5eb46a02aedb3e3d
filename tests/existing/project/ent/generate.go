// Package ent is generated from the schemas in schema/.
package ent

//go:generate go run -mod=mod entc.go
