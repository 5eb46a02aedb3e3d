package codemode

import (
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/sources"
)

// known are the languages of package languages, in its order, as this package knows them.
var known = sources.All()

// types declares SDK in documents, and modules in discovery and for codemode.run: in the first language, whose modules
// those are.
var types = known[0].Types()

// sourceOf returns the language that a caller names. One that is not known is taken for the first: the worker, which
// knows it neither, says so.
func sourceOf(name string) language.Source {
	if s, ok := language.Of(known, name); ok {
		return s
	}
	return known[0]
}

// primerOf returns what a model reads of a language before it writes a script.
func primerOf(name string) language.Primer { return sourceOf(name).Primer() }

// actionOf returns the name and the language of an action's file; ok is false for other files.
func actionOf(file string) (name, in string, ok bool) {
	for _, s := range known {
		if name, in, ok = s.ActionOf(file); ok {
			return name, in, true
		}
	}
	return "", "", false
}
