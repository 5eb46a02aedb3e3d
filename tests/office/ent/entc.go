//go:build ignore

package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/entities/entgen"
)

func main() {
	features := []gen.Feature{gen.FeaturePrivacy, gen.FeatureEntQL, gen.FeatureIntercept}
	if err := entc.Generate("./schema", &gen.Config{Features: features}, entc.Extensions(entgen.New())); err != nil {
		log.Fatal(err)
	}
}
