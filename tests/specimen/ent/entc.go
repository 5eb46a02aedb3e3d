//go:build ignore

package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/entities/entgen"
)

func main() {
	if err := entc.Generate("./schema", &gen.Config{}, entc.Extensions(entgen.New())); err != nil {
		log.Fatal(err)
	}
}
