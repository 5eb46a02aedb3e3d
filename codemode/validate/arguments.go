package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

// signature says where in a method's arguments things stand; -1 is nowhere.
type signature struct {
	options int // an object of options, or a set's name
	filter  int // a filter by itself
	model   int // a model, or a list of models, or changes
}

// signatures are the methods of CONTRACT section 3.
var signatures = map[string]signature{
	"collection":    {0, -1, -1},
	"firstPage":     {1, -1, -1},
	"page":          {2, -1, -1},
	"each":          {0, -1, -1},
	"all":           {0, -1, -1},
	"getById":       {1, -1, -1},
	"findById":      {1, -1, -1},
	"count":         {1, 0, -1},
	"aggregate":     {0, -1, -1},
	"new":           {0, -1, -1},
	"upsert":        {1, -1, 0},
	"upsertMany":    {1, -1, 0},
	"patch":         {2, -1, 1},
	"updateByQuery": {2, 0, 1},
	"deleteByQuery": {1, 0, -1},
	"delete":        {1, -1, -1},
	"deleteMany":    {1, -1, -1},
}

// operators that a filter may hold (CONTRACT section 3).
var operators = strings.Fields("$eq $ne $in $nin $lt $lte $gt $gte $between $contains $icontains $startsWith $endsWith $null $has $all $size $path $and $or $nor $not $some $every $none $exists $search")

// quantifiers hold a filter of the entity that they stand in.
var quantifiers = []string{"$not", "$some", "$every", "$none"}

// maxDepth bounds how deep literals are looked into.
const maxDepth = 32

// arguments checks the literals among a method's arguments.
func (c *checker) arguments(m value, args []ast.Expression) {
	sig, ok := signatures[m.method]
	if !ok {
		return
	}
	if i := slices.IndexFunc(args, isSpread); i >= 0 {
		args = args[:i]
	}
	at := func(i int) ast.Expression {
		if i < 0 || i >= len(args) {
			return nil
		}
		return args[i]
	}
	if set, ok := at(sig.filter).(*ast.StringLiteral); ok && len(args) == 1 && m.method == "count" {
		c.set(m.entity, set) // a lone string is the set
	}
	c.filter(m.entity, at(sig.filter), 0)
	c.models(m.entity, at(sig.model))
	if m.method == "aggregate" {
		c.aggregate(m.entity, at(sig.options))
		return
	}
	c.options(m.entity, at(sig.options))
}

func isSpread(e ast.Expression) bool {
	_, ok := e.(*ast.SpreadElement)
	return ok
}

func (c *checker) options(e *wire.Entity, arg ast.Expression) {
	if set, ok := arg.(*ast.StringLiteral); ok {
		c.set(e, set)
		return
	}
	for key, v := range literalProperties(arg) {
		switch key.name {
		case "set":
			if set, ok := v.(*ast.StringLiteral); ok {
				c.set(e, set)
			}
		case "filter":
			c.filter(e, v, 0)
		case "with":
			c.with(e, v)
		case "sort":
			c.paths(e, v, true)
		case "fields":
			c.paths(e, v, false)
		}
	}
}

func (c *checker) set(e *wire.Entity, lit *ast.StringLiteral) {
	set := lit.Value.String()
	sets := e.Sets
	if len(sets) == 0 {
		sets = []string{"default"}
	}
	if set == "" || slices.ContainsFunc(sets, func(p string) bool { return auth.MatchSet(p, set) }) {
		return
	}
	c.fail(lit.Idx, "", UnknownSet, e.Name+" has no set "+quote(set)+fault.DidYouMean(set, sets), has(sets))
}

func (c *checker) filter(e *wire.Entity, arg ast.Expression, depth int) {
	if depth > maxDepth {
		return
	}
	for key, v := range literalProperties(arg) {
		switch {
		case key.name == "$and" || key.name == "$or" || key.name == "$nor":
			if list, ok := v.(*ast.ArrayLiteral); ok {
				for _, one := range list.Value {
					c.filter(e, one, depth+1)
				}
			}
		case slices.Contains(quantifiers, key.name): // e is the edge's target here
			c.filter(e, v, depth+1)
		case strings.HasPrefix(key.name, "$"):
			c.operator(key.name, key.at)
		case c.path(e, key.name, key.at):
			first, _, nested := strings.Cut(key.name, ".")
			if target := c.leadsTo(e, first); target != nil && !nested {
				c.filter(target, v, depth+1)
			}
			if !nested && slices.Contains(e.Fields, first) {
				for inner := range literalProperties(v) {
					if strings.HasPrefix(inner.name, "$") {
						c.operator(inner.name, inner.at)
					}
				}
			}
		}
	}
}

func (c *checker) operator(name string, at file.Idx) {
	if !slices.Contains(operators, name) {
		c.fail(at, "", UnknownOperator, "there is no filter operator "+quote(name)+fault.DidYouMean(name, operators), has(operators))
	}
}

// leadsTo gives the entity that an edge leads to, nil where that is not known: the
// caller may not see it.
func (c *checker) leadsTo(e *wire.Entity, edge string) *wire.Entity {
	if name, ok := e.Targets[edge]; ok && !slices.Contains(e.Fields, edge) {
		return c.byName[name]
	}
	return nil
}

// path reports a path with a step that is neither a field nor an edge.
func (c *checker) path(e *wire.Entity, path string, at file.Idx) bool {
	first, rest, nested := strings.Cut(path, ".")
	if slices.Contains(e.Fields, first) || slices.Contains(e.Edges, first) {
		if target := c.leadsTo(e, first); target != nil && nested {
			return c.path(target, rest, at)
		}
		return true
	}
	known := slices.Concat(e.Fields, e.Edges)
	c.fail(at, "", UnknownField, e.Name+" has no field "+quote(first)+fault.DidYouMean(first, known), has(known))
	return false
}

// models checks the keys of a model, of changes, or of a list of models.
func (c *checker) models(e *wire.Entity, arg ast.Expression) {
	if list, ok := arg.(*ast.ArrayLiteral); ok {
		for _, one := range list.Value {
			c.models(e, one)
		}
		return
	}
	for key := range literalProperties(arg) {
		c.path(e, key.name, key.at)
	}
}

// paths checks `sort` and `fields`: one string with commas, or a list.
func (c *checker) paths(e *wire.Entity, v ast.Expression, signed bool) {
	for lit := range stringLiterals(v) {
		for _, p := range strings.Split(lit.Value.String(), ",") {
			p = strings.TrimSpace(p)
			if signed {
				p = strings.TrimLeft(p, "+-")
			}
			if p != "" {
				c.path(e, p, lit.Idx)
			}
		}
	}
}

// with checks relationships: "a,b.c", ["a"], "all", or an object.
func (c *checker) with(e *wire.Entity, v ast.Expression) {
	for lit := range stringLiterals(v) {
		for _, p := range strings.Split(lit.Value.String(), ",") {
			if p = strings.TrimSpace(p); p != "" {
				c.relationship(e, p, lit.Idx)
			}
		}
	}
	for key, one := range literalProperties(v) {
		target := c.relationship(e, key.name, key.at)
		if _, ok := one.(*ast.ObjectLiteral); ok && target != nil {
			c.options(target, one)
		}
	}
}

// relationship checks a path of edges and gives the entity at its end, nil where
// that is not known.
func (c *checker) relationship(e *wire.Entity, path string, at file.Idx) *wire.Entity {
	for first, rest, more := strings.Cut(path, "."); ; first, rest, more = strings.Cut(rest, ".") {
		switch {
		case first == "all":
			return nil
		case !slices.Contains(e.Edges, first):
			c.fail(at, "", UnknownRelationship, e.Name+" has no relationship "+quote(first)+fault.DidYouMean(first, e.Edges), has(e.Edges))
			return nil
		}
		if e = c.leadsTo(e, first); e == nil || !more {
			return e
		}
	}
}
