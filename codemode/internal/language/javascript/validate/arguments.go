package validate

import (
	"iter"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

var (
	edgeOptions = strings.Fields("limit sort filter fields with") // of one relationship in `with`
	sortOptions = strings.Fields("field nulls")                   // of one member of `sort`
)

// maxDepth bounds the depth of literals that are checked.
const maxDepth = 32

// options finds mistakes in the literal arguments of calls of entities.
type options struct{ *filters }

// arguments checks the literals among a method's arguments.
func (o *options) arguments(s *scope, m value, args []ast.Expression) {
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
		for t := range o.look(at(0)) { // a single string is the set
			o.bareSet(m.entity, t)
		}
	}
	o.filter(m.entity, at(sig.filter), 0)
	o.models(m.entity, at(sig.model), 0)
	if m.method == "aggregate" {
		o.aggregate(m.entity, at(sig.options()))
		return
	}
	o.object(m.entity, at(sig.options()), m.method, sig.takes, 0)
}

// input checks the literals in the input of an entity's operation.
func (o *options) input(s *scope, t value, args []ast.Expression) {
	op, ok := catalog.EntityOperationNamed(t.method)
	if t.entity == nil || !ok || len(args) == 0 || isSpread(args[0]) {
		return
	}
	in := term{args[0], s}
	if t.method == "aggregate" {
		o.aggregate(t.entity, in)
		return
	}
	o.object(t.entity, in, t.method, op.Inputs(), 0)
	for key, v := range o.properties(in) {
		if isModel(key.name) {
			o.models(t.entity, v, 0)
		}
	}
}

func isSpread(e ast.Expression) bool {
	_, ok := e.(*ast.SpreadElement)
	return ok
}

// object checks an object of options, or a set's name.
func (o *options) object(e *wire.Entity, arg term, method string, takes []string, depth int) {
	if depth > maxDepth {
		return
	}
	for t := range o.look(arg) {
		o.bareSet(e, t)
	}
	for key, v := range o.properties(arg) {
		switch {
		case !slices.Contains(takes, key.name) && method == "new":
			stores := "upsert"
			if !slices.Contains(e.Ops, stores) {
				stores = "create"
			}
			o.fail(key.at, "", wire.DiagnosticUnknownOption, "`new` takes no values: it returns a model with defaults, and stores nothing", "Store one with SDK.Entities."+e.Name+"."+stores+"({"+shown(key.name)+": ...}).")
		case !slices.Contains(takes, key.name):
			o.fail(key.at, "", wire.DiagnosticUnknownOption, "there is no option "+quote(key.name)+didYouMean(suggest(key.name, takes, otherOptions[key.name])), availableNames(takes))
		case key.name == "ifVersion" && e.Kinds != "" && !e.Versioned:
			o.fail(key.at, "", wire.DiagnosticUnknownOption, e.Name+" has no version", "Leave ifVersion out.")
		case key.name == "q" && e.Kinds != "" && !e.Searchable:
			o.fail(key.at, "", wire.DiagnosticUnknownOption, e.Name+" has no searchable fields", "Filter with $contains or $icontains.")
		case key.name == "set":
			o.set(e, v)
		case key.name == "filter":
			o.filter(e, v, depth)
		case key.name == "with" && len(e.Edges) == 0:
			o.fail(key.at, "", wire.DiagnosticUnknownRelationship, e.Name+" has no relationships", "Leave `with` out.")
		case key.name == "with":
			o.with(e, v, depth+1)
		case key.name == "sort":
			o.sort(e, v)
		case key.name == "fields":
			o.paths(e, v)
		}
	}
}

// set checks the name of a set.
func (o *options) set(e *wire.Entity, v term) {
	for t := range o.look(v) {
		o.bareSet(e, t)
	}
}

func (o *options) bareSet(e *wire.Entity, t term) {
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
	o.fail(t.Idx0(), "", wire.DiagnosticUnknownSet, e.Name+" has no set "+quote(set)+fault.DidYouMean(set, sets), availableNames(sets))
}

// models checks the keys of a model, of changes, or of a list of models.
func (o *options) models(e *wire.Entity, arg term, depth int) {
	if depth > maxDepth {
		return
	}
	if list, ok := o.elements(arg); ok {
		for _, one := range list {
			o.models(e, one, depth+1)
		}
		return
	}
	known := slices.Concat(e.Fields, e.Edges)
	for key := range o.properties(arg) {
		if !slices.Contains(known, key.name) {
			o.noField(e, key.name, known, key.at)
		}
	}
}

// paths checks `fields`: one string with commas, or a list.
func (o *options) paths(e *wire.Entity, v term) {
	for name, at := range o.listed(v) {
		o.path(e, name, at)
	}
}

// sort checks the names of `sort`: an entity's fields, and those that relationships to one lead to.
func (o *options) sort(e *wire.Entity, v term) {
	for name, at := range o.sorted(v) {
		o.sortField(e, strings.TrimPrefix(name, "-"), at)
	}
}

// sortField checks one name of a sort.
func (o *options) sortField(e *wire.Entity, path string, at file.Idx) {
	for first, rest, more := strings.Cut(path, "."); ; first, rest, more = strings.Cut(rest, ".") {
		known := readable(e)
		switch {
		case !more && slices.Contains(known, first):
			return
		case !more, !slices.Contains(e.Edges, first):
			o.noField(e, first, known, at)
			return
		case slices.Contains(e.Many, first):
			o.fail(at, "", wire.DiagnosticUnknownField, quote(first)+" of "+e.Name+" is a relationship to many; a sort goes over relationships to one", "Sort by a field of "+e.Name+", or in the script.")
			return
		}
		if e = o.leadsTo(e, first); e == nil {
			return
		}
	}
}

// sorted yields the names of a sort: strings with commas, and the fields of {field, nulls}.
func (o *options) sorted(v term) iter.Seq2[string, file.Idx] {
	return func(yield func(string, file.Idx) bool) {
		for name, at := range o.listed(v) {
			if !yield(name, at) {
				return
			}
		}
		list, isList := o.elements(v)
		if !isList {
			list = []term{v}
		}
		for _, one := range list {
			for key, given := range o.properties(one) {
				switch {
				case !slices.Contains(sortOptions, key.name):
					o.fail(key.at, "", wire.DiagnosticUnknownOption, "a sort has no option "+quote(key.name)+fault.DidYouMean(key.name, sortOptions), availableNames(sortOptions))
				case key.name == "field":
					for name, at := range o.listed(given) {
						if !yield(name, at) {
							return
						}
					}
				}
			}
		}
	}
}

// with checks relationships: "a,b.c", ["a"], "all", or an object.
func (o *options) with(e *wire.Entity, v term, depth int) {
	for path, at := range o.listed(v) {
		o.relationship(e, path, at)
	}
	for key, one := range o.properties(v) {
		if target := o.relationship(e, key.name, key.at); target != nil {
			o.object(target, one, "", edgeOptions, depth)
		}
	}
}

// relationship checks a path of edges and returns the entity at its end, nil if it is not
// known.
func (o *options) relationship(e *wire.Entity, path string, at file.Idx) *wire.Entity {
	for first, rest, more := strings.Cut(path, "."); ; first, rest, more = strings.Cut(rest, ".") {
		switch {
		case first == "all":
			return nil
		case !slices.Contains(e.Edges, first):
			o.fail(at, "", wire.DiagnosticUnknownRelationship, e.Name+" has no relationship "+quote(first)+fault.DidYouMean(first, e.Edges), availableNames(e.Edges))
			return nil
		}
		if e = o.leadsTo(e, first); e == nil || !more {
			return e
		}
	}
}
