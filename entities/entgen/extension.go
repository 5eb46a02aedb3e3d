// Package entgen is the entc extension: from an ent graph it generates the
// descriptors of the exposed schemas and the thin code that lets the engine use
// ent's builders, in one file (koan.go) of the app's ent package.
//
// What belongs here: reading the graph, saying what in it cannot be exposed, and
// writing Go. What must never: anything that runs in the app.
package entgen

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

// File is the name of the generated file in the app's ent package.
const File = "koan.go"

// Extension generates what the entities provider needs. Use it as
// entc.Extensions(entgen.New()).
type Extension struct{ entc.DefaultExtension }

var _ entc.Extension = (*Extension)(nil)

// New makes the extension.
func New() *Extension { return &Extension{} }

// Hooks puts the generation after ent's own, and the check of the graph before
// it, so that a schema that cannot be exposed changes no file.
func (*Extension) Hooks() []gen.Hook {
	return []gen.Hook{func(next gen.Generator) gen.Generator {
		return gen.GenerateFunc(func(g *gen.Graph) error {
			m, err := newModel(g)
			if err != nil {
				return errors.Join(err, unmark(filepath.Join(g.Target, "runtime.go")))
			}
			if err := oneByOne(next, g); err != nil {
				return err
			}
			if err := m.readRuntime(); err != nil {
				return err
			}
			src, err := m.render()
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(g.Target, File), src, 0o644)
		})
	}}
}

// oneByOne lets ent generate on one processor. Ent formats as many files at once
// as there are processors, writes each anew, and takes imports that its templates
// leave out from the files beside it: one that is half written at that moment
// cannot be read, and the import is then searched for, and found in any package
// of the module that has the name. With one processor ent has one file in hand.
func oneByOne(next gen.Generator, g *gen.Graph) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return next.Generate(g)
}

// unmark takes off the line that ent puts before the code of runtime.go while it
// generates, and leaves there when a generation ends in an error.
func unmark(path string) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const mark = "// +build tools\n"
	clean := raw
	for bytes.HasPrefix(clean, []byte(mark)) {
		clean = clean[len(mark):]
	}
	if len(clean) == len(raw) {
		return nil
	}
	return os.WriteFile(path, clean, 0o644)
}

// newModel reads a graph. Its error names every schema and field that cannot be
// exposed.
func newModel(g *gen.Graph) (*model, error) {
	m := &model{graph: g}
	m.read()
	if len(m.problems) > 0 {
		problems := "1 problem"
		if len(m.problems) > 1 {
			problems = fmt.Sprintf("%d problems", len(m.problems))
		}
		return nil, fmt.Errorf("koan: %s in the ent schema:\n  %s", problems, strings.Join(m.problems, "\n  "))
	}
	return m, nil
}
