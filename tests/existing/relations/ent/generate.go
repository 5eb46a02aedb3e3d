// Package ent is the club's data.
package ent

//go:generate go run -mod=mod entc.go
