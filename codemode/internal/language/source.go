package language

import (
	"encoding/json"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/catalog"
)

// Source is a language as the host of scripts knows it: by their text, which it never runs.
type Source interface {
	// Names are as those of Language.
	Names() []string
	// References returns the servers that a script refers to.
	References(code string, args json.RawMessage) References
	// Imports returns a function that reports whether a script may import the module with a path, nil if it imports
	// none.
	Imports(code string) func(path string) bool
	// ActionOf returns the name of the action in a file and the name of the language that it is in; ok is false for a
	// file that is none of this language's.
	ActionOf(file string) (action, language string, ok bool)
	// ActionFile returns the file of an action that does what a script does: its name, its text, and the name of the
	// language that it is in.
	ActionFile(a Action) (file, text, language string)
	// Primer is what a model reads before it writes a script.
	Primer() Primer
	// Finds declares what a search for scripts in this language finds.
	Finds() Finds
	// Types declares SDK for scripts in this language; nil if it has no declarations of its own.
	Types() Types
}

// Stubs is what a Source may implement beside Types: SDK as the tools of its own language read it.
type Stubs interface {
	// StubFile is the name of the file that the declarations are usually in.
	StubFile() string
	// Stub returns the declarations of everything that a script of a View can call.
	Stub(v *catalog.View) string
	// StubFolder returns the declarations as files for an editor, those of servers' modules too, by their paths.
	StubFolder(v *catalog.View, app bind.App) map[string]string
}

// References are the servers that a script refers to, as far as its text and its arguments say.
type References interface {
	// Imports reports whether the tools of a server have to be known before the script begins.
	Imports(server string) bool
	// Names returns those of some servers that the script refers to.
	Names(servers []string) []string
}

// Action is an action that a script is to become.
type Action struct {
	Name, Description string
	Code              string          // of the script
	Language          string          // as in wire.Job
	Input             json.RawMessage // the schema of its input
	Example           json.RawMessage // an input; nil for none
}
