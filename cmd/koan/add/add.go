// Package add adds Koan to a Go module that has ent schemas: the extension to the program
// that generates ent's code, the module to go.mod, the annotation to schemas, and a
// program that serves them.
//
// What belongs here: reading the module, and edits of its files that leave everything else
// in them unchanged. Not here: running code of the module, except for ent's own
// loading of schemas.
package add

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

const (
	koanModule   = "github.com/koan-go/koan"
	entgenImport = koanModule + "/entities/entgen"
	exposeImport = koanModule + "/entities/expose"
	entImport    = "entgo.io/ent"
	entcImport   = entImport + "/entc"
	genImport    = entImport + "/entc/gen"
	fieldImport  = entImport + "/schema/field"
	schemaImport = entImport + "/schema"
)

// Options are the options of `koan add`.
type Options struct {
	Dir     string   // the folder of the schemas, or the one above it
	Expose  []string // names of schemas, or "all" for those that can be
	Source  string   // absolute path of a checkout of Koan, "" for a released version
	Version string   // of Koan, to require
	Program string   // the folder for a program that serves, from the module's root; "" for none
	DryRun  bool
	Force   bool
	// Flags are those of ent's command, if no go:generate line has them.
	// FlagsGiven reports that the command line had them, even if there are none.
	Flags      []string
	FlagsGiven bool
	// Agree is called before files change; nil if nobody can be asked.
	Agree func(files int) (bool, error)
}

// Run plans all changes, shows them, and then makes them. If one is impossible it returns
// an error that names the place, and changes nothing.
func Run(o Options, out io.Writer) error {
	p, err := newPlan(o)
	if err != nil {
		return err
	}
	if err := p.make(); err != nil {
		return err
	}
	if len(p.changed()) == 0 {
		fmt.Fprintf(out, "Nothing to change: %s already has Koan.\n", p.mod.root)
		p.report(out, "Next")
		return nil
	}
	if err := p.show(out); err != nil {
		return err
	}
	if o.DryRun {
		fmt.Fprintf(out, "\nA dry run: nothing was written.\n")
		p.report(out, "Then")
		return nil
	}
	if err := p.checkClean(); err != nil {
		return err
	}
	if o.Agree != nil {
		if yes, err := o.Agree(len(p.changed())); err != nil || !yes {
			return err
		}
	}
	if err := p.write(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, f := range p.changed() {
		verb := "changed"
		if f.was == nil {
			verb = "wrote"
		}
		fmt.Fprintf(out, "%-8s%s\n", verb, p.rel(f.path))
	}
	p.report(out, "Next")
	return nil
}

// plan is all changes of a module.
type plan struct {
	Options
	files
	mod     *module
	schemas string // absolute folder of the schemas
	gen     *generator
	graph   *graph
	manual  []string // what has to be done by hand
	notes   []string
}

func newPlan(o Options) (*plan, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	mod, err := readModule(dir)
	if err != nil {
		return nil, err
	}
	p := &plan{Options: o, mod: mod, files: files{root: mod.root}}
	if p.schemas, err = schemaFolder(mod, dir, o.Dir); err != nil {
		return nil, err
	}
	return p, nil
}

// make plans the changes.
func (p *plan) make() error {
	var err error
	if p.gen, err = p.findGenerator(); err != nil {
		return err
	}
	if err := p.require(); err != nil {
		return err
	}
	if p.graph, err = p.load(); err != nil {
		return err
	}
	if err := p.extend(); err != nil {
		return err
	}
	if err := p.keepInModule(); err != nil {
		return err
	}
	if err := p.annotate(); err != nil {
		return err
	}
	return p.addProgram()
}

// report prints what is exposed, and what to do next.
func (p *plan) report(out io.Writer, then string) {
	list := func(title string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(out, "\n%s: %s\n", title, strings.Join(names, ", "))
		}
	}
	list("Exposed", p.graph.exposed)
	list("Not exposed, so agents will not know of them", p.graph.exposable)
	if len(p.graph.exposable) > 0 {
		fmt.Fprintf(out, "  To expose some: koan add %s --expose NAME,NAME (or all)\n", p.Dir)
	}
	if len(p.graph.refused) > 0 {
		fmt.Fprintln(out, "\nCannot be exposed as they are:")
		for _, r := range p.graph.refused {
			fmt.Fprintf(out, "  %s\n", r)
		}
	}
	if len(p.manual) > 0 {
		fmt.Fprintln(out, "\nBy hand, since it cannot be edited safely:")
		for _, m := range p.manual {
			fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(m, "\n", "\n  "))
		}
	}
	for _, n := range p.notes {
		fmt.Fprintf(out, "\n%s\n", n)
	}
	fmt.Fprintf(out, "\n%s, in %s:\n", then, p.mod.root)
	for _, command := range p.next() {
		fmt.Fprintf(out, "  %s\n", command)
	}
}

// next are the commands that follow.
func (p *plan) next() []string {
	if len(p.graph.exposed) == 0 {
		return []string{fmt.Sprintf("koan add %s --expose NAME,NAME", p.Dir)}
	}
	tidy := []string{"go mod tidy"}
	if p.mod.vendored {
		tidy = append(tidy, "go mod vendor")
	}
	out := append(slices.Clone(tidy), p.gen.userCommand(p))
	if !p.gen.hasCode() { // what imports the code that is not there yet cannot be tidied
		out = append([]string{"go mod tidy -e", p.gen.userCommand(p)}, tidy...)
	}
	if len(p.mod.serving) > 0 {
		return append(out, "go build ./...")
	}
	if p.graph.program != "" {
		out = append(out, fmt.Sprintf("%s=... go run ./%s doctor", databaseVariable, p.graph.program))
	}
	return out
}

// rel is a path as people write it: relative to the working directory if it is below it.
func (p *plan) rel(path string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// inModule is a path from the module's root, with slashes.
func (p *plan) inModule(path string) string {
	rel, err := filepath.Rel(p.mod.root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
