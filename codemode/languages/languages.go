// Package languages has the languages in which this build runs scripts. A program that imports it is a worker if it is
// started as one: it never gets to its main function then.
//
// What belongs here: the list. Not here: anything else; all that a worker links is linked here.
package languages

import (
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/javascript"
	"github.com/koan-go/koan/codemode/internal/language/node"
	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/codemode/worker"
)

// All returns the languages that a worker of this build runs itself, for one process or for one script. Interpreters of
// the machine are started by this build too, and run theirs. The first one is that of scripts which name none.
func All() []language.Language { return []language.Language{javascript.New()} }

func init() {
	worker.Main(All)
	python.Main()
	node.Main()
}
