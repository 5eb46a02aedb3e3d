package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// edgeOptions are the options that `with` accepts for one relationship.
var edgeOptions = strings.Fields("limit sort filter fields with")

// maxDepth bounds the depth of literals that are checked.
const maxDepth = 32

// arguments checks the literals among a method's arguments.
func (c *checker) arguments(s *scope, m value, args []ast.Expression) {
	sig, ok := signatureOf(m.method)
	if !ok {
		return
	}
	if i := slices.IndexFunc(args, isSpread); i >= 0 {
		args = args[:i]
	}
	at := func(i int) term {
		if i < 0 || i >= len(args) {
			return term{}
		}
		return term{args[i], s}
	}
	if len(args) == 1 && m.method == "count" {
		for t := range c.look(at(0)) { // a single string is the set
			c.bareSet(m.entity, t)
		}
	}
	c.filter(m.entity, at(sig.filter), 0)
	c.models(m.entity, at(sig.model), 0)
	if m.method == "aggregate" {
		c.aggregate(m.entity, at(sig.options()))
		return
	}
	c.options(m.entity, at(sig.options()), m.method, sig.takes, 0)
}

func isSpread(e ast.Expression) bool {
	_, ok := e.(*ast.SpreadElement)
	return ok
}

// options checks an object of options, or a set's name.
func (c *checker) options(e *wire.Entity, arg term, method string, takes []string, depth int) {
	if depth > maxDepth {
		return
	}
	for t := range c.look(arg) {
		c.bareSet(e, t)
	}
	for key, v := range c.properties(arg) {
		switch {
		case !slices.Contains(takes, key.name) && method == "new":
			stores := "upsert"
			if !slices.Contains(e.Ops, stores) {
				stores = "create"
			}
			c.fail(key.at, "", wire.DiagnosticUnknownOption, "`new` takes no values: it returns a model with defaults, and stores nothing", "Store one with SDK.Entities."+e.Name+"."+stores+"({"+shown(key.name)+": ...}).")
		case !slices.Contains(takes, key.name):
			c.fail(key.at, "", wire.DiagnosticUnknownOption, "there is no option "+quote(key.name)+didYouMean(suggest(key.name, takes, otherOptions[key.name])), availableNames(takes))
		case key.name == "ifVersion" && e.Kinds != "" && !e.Versioned:
			c.fail(key.at, "", wire.DiagnosticUnknownOption, e.Name+" has no version", "Leave ifVersion out.")
		case key.name == "q" && e.Kinds != "" && !e.Searchable:
			c.fail(key.at, "", wire.DiagnosticUnknownOption, e.Name+" has no searchable fields", "Filter with $contains or $icontains.")
		case key.name == "set":
			c.set(e, v)
		case key.name == "filter":
			c.filter(e, v, depth)
		case key.name == "with" && len(e.Edges) == 0:
			c.fail(key.at, "", wire.DiagnosticUnknownRelationship, e.Name+" has no relationships", "Leave `with` out.")
		case key.name == "with":
			c.with(e, v, depth+1)
		case key.name == "sort":
			c.sort(e, v)
		case key.name == "fields":
			c.paths(e, v)
		}
	}
}

// set checks the name of a set.
func (c *checker) set(e *wire.Entity, v term) {
	for t := range c.look(v) {
		c.bareSet(e, t)
	}
}

func (c *checker) bareSet(e *wire.Entity, t term) {
	set, ok := plainText(t.Expression)
	if !ok {
		return
	}
	sets := e.Sets
	if len(sets) == 0 {
		sets = []string{"default"}
	}
	if set == "" || slices.ContainsFunc(sets, func(p string) bool { return auth.MatchSet(p, set) }) {
		return
	}
	c.fail(t.Idx0(), "", wire.DiagnosticUnknownSet, e.Name+" has no set "+quote(set)+fault.DidYouMean(set, sets), availableNames(sets))
}

// leadsTo returns the target entity of an edge, nil if it is not known because the caller
// must not see it.
func (c *checker) leadsTo(e *wire.Entity, edge string) *wire.Entity {
	if name, ok := e.Targets[edge]; ok && !slices.Contains(e.Fields, edge) {
		return c.byName[name]
	}
	return nil
}

// readable returns the fields of an entity that a caller may name in a query.
func readable(e *wire.Entity) []string {
	var out []string
	for i, f := range e.Fields {
		if class(e, i) != catalog.ClassHidden {
			out = append(out, f)
		}
	}
	return out
}

// path reports a path with a step that is neither a field nor an edge.
func (c *checker) path(e *wire.Entity, path string, at file.Idx) bool {
	first, rest, nested := strings.Cut(path, ".")
	fields := readable(e)
	if slices.Contains(fields, first) || slices.Contains(e.Edges, first) {
		if target := c.leadsTo(e, first); target != nil && nested {
			return c.path(target, rest, at)
		}
		return true
	}
	c.noField(e, first, slices.Concat(fields, e.Edges), at)
	return false
}

func (c *checker) noField(e *wire.Entity, name string, known []string, at file.Idx) {
	c.fail(at, "", wire.DiagnosticUnknownField, e.Name+" has no field "+quote(name)+fault.DidYouMean(name, known), availableNames(known))
}

// models checks the keys of a model, of changes, or of a list of models.
func (c *checker) models(e *wire.Entity, arg term, depth int) {
	if depth > maxDepth {
		return
	}
	if list, ok := c.elements(arg); ok {
		for _, one := range list {
			c.models(e, one, depth+1)
		}
		return
	}
	known := slices.Concat(e.Fields, e.Edges)
	for key := range c.properties(arg) {
		if !slices.Contains(known, key.name) {
			c.noField(e, key.name, known, key.at)
		}
	}
}

// paths checks `fields`: one string with commas, or a list.
func (c *checker) paths(e *wire.Entity, v term) {
	for name, at := range c.listed(v) {
		c.path(e, name, at)
	}
}

// sort checks the names of `sort`: an entity's own fields.
func (c *checker) sort(e *wire.Entity, v term) {
	known := readable(e)
	for name, at := range c.listed(v) {
		if name = strings.TrimPrefix(name, "-"); !slices.Contains(known, name) {
			c.noField(e, name, known, at)
		}
	}
}

// with checks relationships: "a,b.c", ["a"], "all", or an object.
func (c *checker) with(e *wire.Entity, v term, depth int) {
	for path, at := range c.listed(v) {
		c.relationship(e, path, at)
	}
	for key, one := range c.properties(v) {
		if target := c.relationship(e, key.name, key.at); target != nil {
			c.options(target, one, "", edgeOptions, depth)
		}
	}
}

// relationship checks a path of edges and returns the entity at its end, nil if it is not
// known.
func (c *checker) relationship(e *wire.Entity, path string, at file.Idx) *wire.Entity {
	for first, rest, more := strings.Cut(path, "."); ; first, rest, more = strings.Cut(rest, ".") {
		switch {
		case first == "all":
			return nil
		case !slices.Contains(e.Edges, first):
			c.fail(at, "", wire.DiagnosticUnknownRelationship, e.Name+" has no relationship "+quote(first)+fault.DidYouMean(first, e.Edges), availableNames(e.Edges))
			return nil
		}
		if e = c.leadsTo(e, first); e == nil || !more {
			return e
		}
	}
}
