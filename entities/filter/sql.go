package filter

import (
	"time"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/sqltext"
)

// node is a condition. where appends it as SQL on the table with alias a; with
// negate it appends what is true exactly where the condition is not.
type node interface {
	where(b *sqltext.Builder, a sqltext.Alias, negate bool)
}

// group joins conditions by and, or by or.
type group struct {
	or bool
	of []node
}

// simple takes a group of one condition away.
func (g *group) simple() node {
	if len(g.of) == 1 {
		return g.of[0]
	}
	return g
}

func (g *group) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	or := g.or != negate
	switch len(g.of) {
	case 0: // nothing to fulfil: true, unless it is an empty or
		b.Raw(truth(!or))
	default:
		g.join(b, a, g.of, or, negate)
	}
}

// join writes halves in parentheses, since databases bound the depth of an
// expression and a chain is as deep as it is long.
func (g *group) join(b *sqltext.Builder, a sqltext.Alias, of []node, or, negate bool) {
	if len(of) == 1 {
		of[0].where(b, a, negate)
		return
	}
	half := len(of) / 2
	b.Raw("(")
	g.join(b, a, of[:half], or, negate)
	if or {
		b.Raw(" OR ")
	} else {
		b.Raw(" AND ")
	}
	g.join(b, a, of[half:], or, negate)
	b.Raw(")")
}

func truth(yes bool) string {
	if yes {
		return "1=1"
	}
	return "1=0"
}

type not struct{ of node }

func (n *not) where(b *sqltext.Builder, a sqltext.Alias, negate bool) { n.of.where(b, a, !negate) }

type isNull struct{ column *descriptor.Column }

func (n *isNull) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	b.Column(a, n.column.Name)
	if negate {
		b.Raw(" IS NOT NULL")
		return
	}
	b.Raw(" IS NULL")
}

type compare struct {
	column *descriptor.Column
	op     string // "=", "<", "<=", ">", ">="
	value  any
}

var opposite = map[string]string{"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

func (n *compare) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	op := n.op
	if negate {
		op = opposite[op]
	}
	orNull(b, a, n.column, negate, func() {
		operand(b, a, n.column)
		b.Raw(op)
		argument(b, n.column, n.value)
	})
}

type oneOf struct {
	column *descriptor.Column
	values []any
}

func (n *oneOf) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if len(n.values) == 0 {
		b.Raw(truth(negate))
		return
	}
	orNull(b, a, n.column, negate, func() {
		operand(b, a, n.column)
		if negate {
			b.Raw(" NOT")
		}
		b.Raw(" IN (")
		values := make([]any, len(n.values))
		for i, v := range n.values {
			values[i] = bound(b.Dialect, v)
		}
		b.List(values)
		b.Raw(")")
	})
}

// textKind is how a text is looked for in another one.
type textKind int

const (
	contains textKind = iota
	containsFold
	starts
	ends
)

// match looks for a text in a column.
type match struct {
	column *descriptor.Column
	kind   textKind
	text   string
}

func (n *match) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if n.text == "" { // every text has the empty one in it, null has not
		(&isNull{n.column}).where(b, a, !negate)
		return
	}
	orNull(b, a, n.column, negate, func() {
		before, between, after := b.Dialect.Position()
		yes, no := ">0", "=0"
		switch n.kind {
		case contains:
			b.Raw(before).Column(a, n.column.Name).Raw(between).Arg(n.text).Raw(after)
		case containsFold:
			b.Raw(before).Raw("lower(").Column(a, n.column.Name).Raw(")").Raw(between).Raw("lower(").Arg(n.text).Raw(")").Raw(after)
		case starts:
			b.Raw(before).Column(a, n.column.Name).Raw(between).Arg(n.text).Raw(after)
			yes, no = "=1", "<>1"
		case ends:
			before, between, after = b.Dialect.Suffix()
			b.Raw(before).Column(a, n.column.Name).Raw(between).Arg(n.text).Raw(after)
			yes, no = "=", "<>"
		}
		if negate {
			yes = no
		}
		b.Raw(yes)
		if n.kind == ends {
			b.Arg(n.text)
		}
	})
}

// related is true where a row of the target is related and fulfils the
// condition; no condition means any row.
type related struct {
	edge      *descriptor.Edge
	own       *descriptor.Entity
	target    *descriptor.Entity
	condition node
}

func (n *related) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if negate {
		b.Raw("NOT ")
	}
	b.Raw("EXISTS (SELECT 1 FROM ")
	t := b.NewAlias()
	edge := n.edge
	switch {
	case edge.JoinTable != "":
		j := b.NewAlias()
		b.Name(edge.JoinTable).Raw(" AS ").Alias(j).Raw(" JOIN ").Name(n.target.Table).Raw(" AS ").Alias(t)
		b.Raw(" ON ").Column(t, n.target.Key.Name).Raw("=").Column(j, edge.JoinTarget)
		b.Raw(" WHERE ").Column(j, edge.JoinOwn).Raw("=").Column(a, n.own.Key.Name)
	case edge.OwnKey != "":
		b.Name(n.target.Table).Raw(" AS ").Alias(t)
		b.Raw(" WHERE ").Column(t, n.target.Key.Name).Raw("=").Column(a, edge.OwnKey)
	default:
		b.Name(n.target.Table).Raw(" AS ").Alias(t)
		b.Raw(" WHERE ").Column(t, edge.TargetKey).Raw("=").Column(a, n.own.Key.Name)
	}
	if n.condition != nil {
		b.Raw(" AND ")
		n.condition.where(b, t, false)
	}
	b.Raw(")")
}

// orNull lets null fulfil a negated condition, where there can be nulls.
func orNull(b *sqltext.Builder, a sqltext.Alias, c *descriptor.Column, negate bool, condition func()) {
	if !negate || !c.Nullable {
		condition()
		return
	}
	b.Raw("(")
	condition()
	b.Raw(" OR ").Column(a, c.Name).Raw(" IS NULL)")
}

func operand(b *sqltext.Builder, a sqltext.Alias, c *descriptor.Column) {
	if c.Storage != descriptor.Decimal {
		b.Column(a, c.Name)
		return
	}
	before, after := b.Dialect.Numeric()
	b.Raw(before).Column(a, c.Name).Raw(after)
}

func argument(b *sqltext.Builder, c *descriptor.Column, v any) {
	if c.Storage != descriptor.Decimal {
		b.Arg(bound(b.Dialect, v))
		return
	}
	before, after := b.Dialect.Numeric()
	b.Raw(before).Arg(v).Raw(after)
}

func bound(d sqltext.Dialect, v any) any {
	if t, ok := v.(time.Time); ok {
		return d.Time(t)
	}
	return v
}
