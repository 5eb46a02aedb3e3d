// Package javascript is JavaScript and TypeScript as a language of scripts, on goja and esbuild.
//
// What belongs here: the runtime with SDK, and the conversion of values, calls and errors between a script and its
// host; what else is JavaScript's is in the packages below. Not here: a process, its confinement and its
// frames; other work at package initialisation than variables.
package javascript

import (
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/wire"
)

// javaScript is the language in one process.
type javaScript struct {
	bindings *wire.Bindings // nil before the first
	programs programCache
	next     *runtime // the one that is prepared; nil if there is none
}

var _ language.Language = (*javaScript)(nil)

// New returns the language for one process.
func New() language.Language { return &javaScript{} }

// Names implements language.Language.
func (*javaScript) Names() []string { return script.Names }

// Bind implements language.Language.
func (l *javaScript) Bind(b wire.Bindings) {
	if l.bindings != nil && len(l.bindings.Servers) > 0 || len(b.Servers) > 0 { // programs were compiled for the modules that there were
		l.programs.clear()
	}
	l.bindings = &b
	if l.next != nil {
		l.next.sdk.build(b)
	}
}

// Prepare implements language.Language.
func (l *javaScript) Prepare() (language.Runtime, error) {
	r, err := newRuntime(&l.programs)
	if err != nil {
		return nil, err
	}
	if l.bindings != nil {
		r.sdk.build(*l.bindings)
	}
	l.next = r
	return r, nil
}
