package filter

import (
	"fmt"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// fieldOperators read the operators of fields that do not hold JSON.
var fieldOperators = map[string]func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node{
	"$eq": func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		return p.equal(c, f, v, at, false)
	},
	"$ne": func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		return p.equal(c, f, v, at, true)
	},
	"$in": func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		return p.list(c, f, v, at, false)
	},
	"$nin": func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		return p.list(c, f, v, at, true)
	},
	"$lt": ordered("<"), "$lte": ordered("<="), "$gt": ordered(">"), "$gte": ordered(">="),
	"$null": func(p *parser, c *descriptor.Column, _ *catalog.Field, v any, at string) node {
		return p.null(&isNull{plain{c}}, v, at)
	},
	"$between": (*parser).between,
	"$ieq": func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		text, ok := p.part(f, v, at)
		if !ok {
			return nil
		}
		return &compare{folded{textOf(c)}, "=", text}
	},
	"$iin": func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		return p.listFolded(textOf(c), v, at, func(item any, at string) (string, bool) { return p.part(f, item, at) })
	},
	"$contains": matching(contains), "$icontains": matching(containsFold), "$startsWith": matching(starts), "$endsWith": matching(ends),
}

func ordered(is string) func(*parser, *descriptor.Column, *catalog.Field, any, string) node {
	return func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		arg, ok := p.value(c, f, v, at)
		if !ok {
			return nil
		}
		return &compare{plain{c}, is, arg}
	}
}

func matching(kind textKind) func(*parser, *descriptor.Column, *catalog.Field, any, string) node {
	return func(p *parser, c *descriptor.Column, f *catalog.Field, v any, at string) node {
		text, ok := p.part(f, v, at)
		if !ok {
			return nil
		}
		return &match{textOf(c), kind, text}
	}
}

// jsonOperators read the operators of a place in JSON. element is the type that the elements of a
// list there have, "" for unknown. jsonField reads $path itself, at which these stand again.
var jsonOperators = map[string]func(p *parser, here place, element string, v any, at string) node{
	"$eq": func(p *parser, here place, _ string, v any, at string) node { return p.jsonEqual(here, v, at, false) },
	"$ne": func(p *parser, here place, _ string, v any, at string) node { return p.jsonEqual(here, v, at, true) },
	"$in": func(p *parser, here place, _ string, v any, at string) node { return p.jsonList(here, v, at, false) },
	"$nin": func(p *parser, here place, _ string, v any, at string) node {
		return p.jsonList(here, v, at, true)
	},
	"$lt": jsonOrdered("$lt", "<"), "$lte": jsonOrdered("$lte", "<="), "$gt": jsonOrdered("$gt", ">"), "$gte": jsonOrdered("$gte", ">="),
	"$null":    func(p *parser, here place, _ string, v any, at string) node { return p.null(&nothing{here}, v, at) },
	"$between": func(p *parser, here place, _ string, v any, at string) node { return p.jsonBetween(here, v, at) },
	"$ieq": func(p *parser, here place, _ string, v any, at string) node {
		text, ok := p.jsonText("$ieq takes a string", v, at)
		if !ok {
			return nil
		}
		return &compare{folded{typed{here, sqltext.JSONText}}, "=", text}
	},
	"$iin": func(p *parser, here place, _ string, v any, at string) node {
		return p.listFolded(typed{here, sqltext.JSONText}, v, at, func(item any, at string) (string, bool) {
			return p.jsonText("$iin takes a list of strings", item, at)
		})
	},
	"$contains":   jsonMatching("$contains", contains),
	"$icontains":  jsonMatching("$icontains", containsFold),
	"$startsWith": jsonMatching("$startsWith", starts),
	"$endsWith":   jsonMatching("$endsWith", ends),
	"$has":        (*parser).has,
	"$all": func(p *parser, here place, element string, v any, at string) node {
		items, ok := p.items(v, at)
		if !ok {
			return nil
		}
		all := &group{}
		for i, item := range items {
			if n := p.has(here, element, item, at+"/"+strconv.Itoa(i)); n != nil {
				all.of = append(all.of, n)
			}
		}
		return all.simple()
	},
	"$size": func(p *parser, here place, _ string, v any, at string) node {
		n, ok := Integer(v)
		if !ok || n < 0 {
			p.wrong(at, "$size takes the number of elements", "integer from 0", v)
			return nil
		}
		return &compare{typed{here, sqltext.JSONLength}, "=", n}
	},
}

func jsonOrdered(op, is string) func(*parser, place, string, any, string) node {
	return func(p *parser, here place, _ string, v any, at string) node {
		arg, as, ok := p.scalar(v, at)
		if !ok {
			return nil
		}
		if as == sqltext.JSONBool {
			p.wrong(at, op+" takes a number or a string", "a number or string", v)
			return nil
		}
		return &compare{typed{here, as}, is, arg}
	}
}

func jsonMatching(op string, kind textKind) func(*parser, place, string, any, string) node {
	return func(p *parser, here place, _ string, v any, at string) node {
		text, ok := p.jsonText(op+" takes a string", v, at)
		if !ok {
			return nil
		}
		return &match{typed{here, sqltext.JSONText}, kind, text}
	}
}

// An operator of the vocabulary that nothing here reads would be refused at run time as a defect of
// ours: the program does not start.
func init() {
	for op := range catalog.FilterOperators() {
		for _, class := range []byte(op.Classes) {
			known := fieldOperators[op.Name] != nil
			if holdsJSON(catalog.FieldClass(class)) {
				known = jsonOperators[op.Name] != nil || op.Takes == catalog.PathObject
			}
			if !known {
				panic(fmt.Sprintf("filter: nothing reads the operator %s of fields of the class %c", op.Name, class))
			}
		}
	}
}

// holdsJSON reports whether the operators of a class are those of JSON.
func holdsJSON(c catalog.FieldClass) bool {
	switch c {
	case catalog.ClassJSON, catalog.ClassList, catalog.ClassPath, catalog.ClassWhole:
		return true
	}
	return false
}
