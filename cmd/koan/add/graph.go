package add

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/entgen"
	"github.com/koan-go/koan/entities/expose"
)

// graph is ent's graph of the schemas.
type graph struct {
	all       []string
	exposed   []string            // that have the annotation
	exposable []string            // that could have it
	refused   []string            // "Name: why not"
	policies  []string            // exposed ones with a privacy policy
	needs     map[string][]string // what has to be exposed with each
	api       entgen.API
	runtime   bool   // the schemas have defaults, hooks or policies in Go
	program   string // the folder of the program that serves, "" where none is written
}

// load loads the schemas by ent, as at generation.
func (p *plan) load() (*graph, error) {
	flags, done, err := p.buildFlags()
	if err != nil {
		return nil, err
	}
	defer done()
	storage, err := gen.NewStorage("sql")
	if err != nil {
		return nil, err
	}
	cfg := &gen.Config{Storage: storage, IDType: &field.TypeInfo{Type: field.TypeInt}, BuildFlags: flags, Target: p.gen.target, Package: p.gen.pkg}
	if c := p.gen.command; c != nil {
		if err := entc.FeatureNames(c.features...)(cfg); err != nil {
			return nil, err
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if err := os.Chdir(p.mod.root); err != nil { // ent runs go in the working directory
		return nil, err
	}
	g, err := entc.LoadGraph("./"+p.inModule(p.schemas), cfg)
	if back := os.Chdir(here); back != nil {
		return nil, back
	}
	if missing := p.missingCode(); err != nil && len(missing) > 0 {
		return nil, fmt.Errorf("schemas in %s import %s, which ent generates and which is not there. ent cannot make it from schemas that import it: bring back the generated code (git checkout %s, if it is in git), "+
			"or take these imports out, run `%s`, and put them back. Then run koan add again, and keep the generated code in git",
			p.rel(p.schemas), strings.Join(missing, ", "), p.rel(p.gen.target), p.gen.userCommand(p))
	}
	if err != nil {
		return nil, fmt.Errorf("ent cannot load the schemas in %s, and so could not generate from them either: %w", p.rel(p.schemas), err)
	}
	return read(g), nil
}

// missingCode returns the packages of ent's generated code that schemas import and that are not there.
func (p *plan) missingCode() (missing []string) {
	if p.gen.pkg == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(p.schemas, "*.go"))
	if err != nil {
		return nil
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			continue // ent says what is wrong with it
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			below, generated := strings.CutPrefix(name+"/", p.gen.pkg+"/")
			if err != nil || !generated || slices.Contains(missing, name) {
				continue
			}
			if found, err := filepath.Glob(filepath.Join(p.gen.target, filepath.FromSlash(below), "*.go")); err == nil && (len(found) == 0 || below == "" && !p.gen.hasCode()) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}

// buildFlags makes go resolve the module's imports with a copy of the planned go.mod, and
// write additions into that copy.
func (p *plan) buildFlags() (flags []string, done func(), err error) {
	work := exec.Command("go", "env", "GOWORK")
	work.Dir = p.mod.root
	out, err := work.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go env: %w", err)
	}
	if at := strings.TrimSpace(string(out)); at != "" && at != "off" {
		return nil, func() {}, nil // go.work decides
	}
	planned, err := p.open(filepath.Join(p.mod.root, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "koan-add-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	sums, err := os.ReadFile(filepath.Join(p.mod.root, "go.sum"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		done()
		return nil, nil, err
	}
	mod := filepath.Join(dir, "go.mod")
	if err := errors.Join(os.WriteFile(mod, planned.now, 0o644), os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)); err != nil {
		done()
		return nil, nil, err
	}
	return []string{"-mod=mod", "-modfile=" + mod}, done, nil
}

// read sorts the schemas of a graph by whether they are exposed, or could be.
func read(g *gen.Graph) *graph {
	out := &graph{api: entgen.APIOf(g), needs: entgen.Needs(g)}
	obstacles := entgen.Obstacles(g)
	for _, n := range g.Nodes {
		out.all = append(out.all, n.Name)
		out.runtime = out.runtime || n.NumHooks()+n.NumPolicy()+n.NumInterceptors() > 0 || n.HasDefault() || n.HasUpdateDefault()
		for _, why := range obstacles[n.Name] {
			out.refused = append(out.refused, n.Name+": "+why)
		}
		switch {
		case n.Annotations[expose.EntityName] != nil:
			out.exposed = append(out.exposed, n.Name)
			if n.NumPolicy() > 0 {
				out.policies = append(out.policies, n.Name)
			}
		case len(obstacles[n.Name]) == 0:
			out.exposable = append(out.exposable, n.Name)
		}
	}
	return out
}

// choose returns the schemas that get the annotation.
func (g *graph) choose(asked []string) ([]string, error) {
	if slices.Equal(asked, []string{"all"}) {
		return slices.Clone(g.exposable), nil
	}
	var out, wrong []string
	for _, name := range asked {
		switch {
		case slices.Contains(out, name), slices.Contains(g.exposed, name):
		case slices.Contains(g.exposable, name):
			out = append(out, name)
		case !slices.Contains(g.all, name):
			wrong = append(wrong, fmt.Sprintf("there is no schema %q; there are %s", name, strings.Join(g.all, ", ")))
		default:
			for _, r := range g.refused {
				if strings.HasPrefix(r, name+": ") {
					wrong = append(wrong, r)
				}
			}
		}
	}
	for _, name := range out {
		for _, other := range g.needs[name] {
			if !slices.Contains(out, other) && !slices.Contains(g.exposed, other) {
				wrong = append(wrong, fmt.Sprintf("%s: nobody could create one without %s, which it requires: expose that too", name, other))
			}
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("--expose: %s", strings.Join(wrong, "\n  "))
	}
	return out, nil
}
