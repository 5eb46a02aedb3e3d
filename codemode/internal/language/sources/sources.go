// Package sources has the languages of this build as the host of scripts knows them.
//
// What belongs here: the list. Not here: an engine that runs scripts; programs that are workers link it with
// package languages, which has the same languages in the same order.
package sources

import (
	"github.com/koan-go/koan/codemode/internal/language"
	javascript "github.com/koan-go/koan/codemode/internal/language/javascript/source"
	node "github.com/koan-go/koan/codemode/internal/language/node/source"
	python "github.com/koan-go/koan/codemode/internal/language/python/source"
)

// All returns the languages. The first one is that of scripts which name none.
func All() []language.Source {
	return []language.Source{javascript.JavaScript{}, python.Python{}, node.Node{}}
}
