package filter

import (
	"fmt"
	"time"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/sqltext"
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

// operand is what a condition is about: a column, or a place in a column that
// holds JSON.
type operand interface {
	write(b *sqltext.Builder, a sqltext.Alias)
	bind(b *sqltext.Builder, v any)
	nullable() bool
	// isNull appends a condition that is never null itself.
	isNull(b *sqltext.Builder, a sqltext.Alias, negate bool)
}

// plain is a column as it is.
type plain struct{ *descriptor.Column }

func (c plain) nullable() bool { return c.Nullable }

func (c plain) isNull(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if c.Name == "" { // a key of several columns has none that is null
		b.Raw(truth(negate != c.Absent()))
		return
	}
	if native(b, c.Column) { // a composite of nulls is null, and one with a null is not "not null"
		castToText(b, a, c.Column)
	} else {
		b.Column(a, c.Name)
	}
	if negate {
		b.Raw(" IS NOT NULL")
		return
	}
	b.Raw(" IS NULL")
}

func (c plain) write(b *sqltext.Builder, a sqltext.Alias) { Column(b, a, c.Column) }

func (c plain) bind(b *sqltext.Builder, v any) { Bind(b, c.Column, v) }

// Column appends a column as it is compared and sorted by.
func Column(b *sqltext.Builder, a sqltext.Alias, c *descriptor.Column) {
	switch {
	case c.Storage == descriptor.Day:
		before, after := b.Dialect.DayText()
		b.Raw(before).Column(a, c.Name).Raw(after)
	case c.Storage == descriptor.Decimal:
		before, after := b.Dialect.Numeric()
		b.Raw(before).Column(a, c.Name).Raw(after)
	case InOwnOrder(b, c):
		b.Column(a, c.Name)
	case asText(b, c):
		castToText(b, a, c)
	default:
		b.Column(a, c.Name)
	}
}

// InOwnOrder reports whether a column is ordered as its type on PostgreSQL is, and not as the texts that callers see:
// $9.00 comes before $10.00.
func InOwnOrder(b *sqltext.Builder, c *descriptor.Column) bool {
	return c.Folds(descriptor.OwnOrder) && native(b, c)
}

// textual is a column as the text that callers see.
type textual struct{ plain }

func (c textual) write(b *sqltext.Builder, a sqltext.Alias) { castToText(b, a, c.Column) }

func (c textual) bind(b *sqltext.Builder, v any) { b.Arg(v) }

// textOf is a column whose text is searched.
func textOf(c *descriptor.Column) operand {
	if c.Folds(descriptor.OwnOrder) {
		return textual{plain{c}}
	}
	return plain{c}
}

func castToText(b *sqltext.Builder, a sqltext.Alias, c *descriptor.Column) {
	b.Raw("CAST(").Column(a, c.Name).Raw(" AS TEXT)")
}

// asText reports whether a column is ordered and searched as text although the
// database would not take it for one: an app's own type may have kept it as bytes, or
// its type is one of the database's own.
func asText(b *sqltext.Builder, c *descriptor.Column) bool {
	return c.Storage == descriptor.Text && (c.Form != nil || native(b, c))
}

// native reports whether a column has a type of the database's own.
func native(b *sqltext.Builder, c *descriptor.Column) bool {
	if c.Native == "" {
		return false
	}
	before, _ := b.Dialect.Native(c.Native)
	return before != ""
}

// verbatim is a column that is compared with exactly what it holds.
type verbatim struct{ plain }

func (c verbatim) write(b *sqltext.Builder, a sqltext.Alias) {
	if c.Folds(descriptor.AsTexts) && native(b, c.Column) {
		castToText(b, a, c.Column)
		return
	}
	b.Column(a, c.Name)
}

func (c verbatim) bind(b *sqltext.Builder, v any) {
	if c.Native == "" {
		b.Arg(v)
		return
	}
	before, after := b.Dialect.Native(c.Native)
	if c.Folds(descriptor.AsTexts) && before != "" { // as the database itself writes the value
		before, after = "CAST("+before, after+" AS TEXT)"
	}
	b.Raw(before).Arg(v).Raw(after)
}

// folded is a text whose upper and lower case are the same, and whose canonically equivalent
// forms are, and accents where the column says so: see fold.Form.
type folded struct{ operand }

func (f folded) form() fold.Form {
	if c, ok := f.operand.(plain); ok {
		return formOf(c.Column)
	}
	return fold.Case
}

func formOf(c *descriptor.Column) fold.Form {
	if c.Folds(descriptor.FoldsAccents) {
		return fold.Accents
	}
	return fold.Case
}

func (f folded) write(b *sqltext.Builder, a sqltext.Alias) {
	if c, ok := f.operand.(plain); ok && c.Folds(descriptor.FoldsKey) && !c.Folds(descriptor.FoldsAccents) { // as its index has it
		b.Raw(fold.Function + "(")
		f.operand.write(b, a)
		b.Raw(")")
		return
	}
	b.Dialect.Folded(b, func(b *sqltext.Builder) { f.operand.write(b, a) }, f.form())
}

func (f folded) bind(b *sqltext.Builder, v any) {
	text, ok := v.(string)
	if !ok {
		panic(fmt.Sprintf("filter: a %T is compared without regard to case", v))
	}
	b.Arg(b.Dialect.Fold(text, f.form()))
}

// equalityColumn is a column that is compared for equality.
func equalityColumn(c *descriptor.Column) operand {
	if (c.Form != nil || c.Native != "") && c.Storage != descriptor.Decimal {
		return verbatim{plain{c}}
	}
	return plain{c}
}

// Bind appends a value that Column is compared with.
func Bind(b *sqltext.Builder, c *descriptor.Column, v any) {
	if InOwnOrder(b, c) {
		before, after := b.Dialect.Native(c.Native)
		b.Raw(before).Arg(v).Raw(after)
		return
	}
	if c.Storage != descriptor.Decimal {
		if held, ok := v.([]byte); ok && asText(b, c) {
			v = string(held)
		}
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

type isNull struct{ operand operand }

func (n *isNull) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	n.operand.isNull(b, a, negate)
}

type compare struct {
	operand operand
	op      string // "=", "<", "<=", ">", ">="
	value   any
}

var opposite = map[string]string{"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

func (n *compare) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if c, ok := n.operand.(plain); ok && c.Storage == descriptor.Day {
		n.whereDay(b, a, c, negate)
		return
	}
	if c, ok := n.operand.(plain); ok && c.Name == "" {
		if negate && n.op != "=" {
			keyParts(b, func(name string) { b.Column(a, name) }, c.Column, opposite[n.op], n.value)
			return
		}
		if negate {
			b.Raw("NOT ")
		}
		keyParts(b, func(name string) { b.Column(a, name) }, c.Column, n.op, n.value)
		return
	}
	if c, ok := n.operand.(plain); ok && c.Storage == descriptor.Decimal && n.op == "=" {
		whereDecimal(b, a, c, []any{n.value}, negate)
		return
	}
	op := n.op
	if negate {
		op = opposite[op]
	}
	orNull(b, a, n.operand, negate, func() {
		n.operand.write(b, a)
		b.Raw(op)
		n.operand.bind(b, n.value)
	})
}

type oneOf struct {
	operand operand
	values  []any
	entire  bool // with null, where there can be one: no row has anything else
}

func (n *oneOf) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if len(n.values) == 0 {
		b.Raw(truth(negate))
		return
	}
	if c, ok := n.operand.(plain); ok && c.Name == "" {
		if negate {
			b.Raw("NOT ")
		}
		KeyIn(b, a, c.Column, n.values)
		return
	}
	if c, ok := n.operand.(plain); ok && c.Storage == descriptor.Decimal {
		whereDecimal(b, a, c, n.values, negate)
		return
	}
	orNull(b, a, n.operand, negate, func() {
		n.operand.write(b, a)
		if negate {
			b.Raw(" NOT")
		}
		b.Raw(" IN (")
		values := make([]any, len(n.values))
		for i, v := range n.values {
			values[i] = bound(b.Dialect, v)
		}
		switch n.operand.(type) {
		case dayOperand:
			b.ListWith(n.values, func(v any) { n.operand.bind(b, v) })
		case verbatim, folded:
			b.ListWith(values, func(v any) { n.operand.bind(b, v) })
		default:
			b.List(values)
		}
		b.Raw(")")
	})
}

// whereDecimal is true where a column of decimals is one of the values.
func whereDecimal(b *sqltext.Builder, a sqltext.Alias, c plain, values []any, negate bool) {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	orNull(b, a, c, negate, func() {
		if negate {
			b.Raw("NOT ")
		}
		b.Raw("(")
		b.Dialect.IsDecimal(b, func(b *sqltext.Builder) { b.Column(a, c.Name) }, texts)
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

// match looks for a text in another one.
type match struct {
	operand operand
	kind    textKind
	text    string
}

func (n *match) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if n.text == "" { // every text has the empty one in it, null has not
		n.operand.isNull(b, a, !negate)
		return
	}
	orNull(b, a, n.operand, negate, func() {
		before, between, after := b.Dialect.Position()
		yes, no := ">0", "=0"
		switch n.kind {
		case contains:
			b.Raw(before)
			n.operand.write(b, a)
			b.Raw(between).Arg(n.text).Raw(after)
		case containsFold:
			text := folded{n.operand}
			b.Raw(before)
			text.write(b, a)
			b.Raw(between)
			text.bind(b, n.text)
			b.Raw(after)
		case starts:
			if c, ok := n.operand.(plain); ok && c.Storage == descriptor.Text && !negate {
				b.Raw("(")
				defer b.Raw(")")
				b.Dialect.Prefixed(b, func(b *sqltext.Builder) { c.write(b, a) }, n.text)
			}
			b.Raw(before)
			n.operand.write(b, a)
			b.Raw(between).Arg(n.text).Raw(after)
			yes, no = "=1", "<>1"
		case ends:
			before, between, after = b.Dialect.Suffix()
			b.Raw(before)
			n.operand.write(b, a)
			b.Raw(between).Arg(n.text).Raw(after)
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

// related is true where a row of the target that the caller may read is related
// and fulfils the condition; no condition means any row.
type related struct {
	edge      *descriptor.Edge
	own       *descriptor.Entity
	target    *descriptor.Entity
	guard     *Guard
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
	case len(edge.On) > 0:
		b.Name(n.target.Table).Raw(" AS ").Alias(t).Raw(" WHERE ")
		Joined(b, a, t, edge.On)
	default:
		b.Name(n.target.Table).Raw(" AS ").Alias(t)
		b.Raw(" WHERE ").Column(t, edge.TargetKey).Raw("=").Column(a, n.own.Key.Name)
	}
	if rule := n.guard.Rule(); rule != nil {
		b.Raw(" AND ")
		rule.Where(b, t)
	}
	if n.condition != nil {
		b.Raw(" AND ")
		n.condition.where(b, t, false)
	}
	b.Raw(")")
}

// Joined appends the condition that rows of two tables are related by pairs of their columns.
func Joined(b *sqltext.Builder, own, target sqltext.Alias, on []descriptor.Pair) {
	for i, pair := range on {
		if i > 0 {
			b.Raw(" AND ")
		}
		b.Column(target, pair.Target).Raw("=").Column(own, pair.Own)
	}
}

// orNull lets null fulfil a negated condition, where there can be nulls.
func orNull(b *sqltext.Builder, a sqltext.Alias, o operand, negate bool, condition func()) {
	if !negate || !o.nullable() {
		condition()
		return
	}
	b.Raw("(")
	condition()
	b.Raw(" OR ")
	o.isNull(b, a, false)
	b.Raw(")")
}
