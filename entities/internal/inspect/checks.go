package inspect

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
)

// parseDefault returns the constant of a default, or says that the database computes it.
func parseDefault(text string) (constant *Literal, computed bool) {
	e, err := parseExpression(text)
	if err != nil || e.op != "literal" {
		return nil, true
	}
	if e.is.Text == "NULL" && !e.is.Quoted {
		return nil, false
	}
	return &e.is, false
}

// applyChecks narrows the limits of columns by what checks say in literals. A value of a check that none of
// it says is left to the database.
func (r *Relation) applyChecks() {
	for _, text := range r.Checks {
		if e, err := parseExpression(text); err == nil {
			applyCheck(e, func(name string) *Column { return r.Column(spelt(r, name)) })
		}
	}
}

// applyCheck applies a condition that every row fulfils.
func applyCheck(e *expression, column func(string) *Column) {
	switch e.op {
	case "and":
		for _, of := range e.of {
			applyCheck(of, column)
		}
	case "or":
		e.applyAlternatives(column)
	case "in":
		if c := e.of[0].column(column); c != nil {
			c.limitToList(e.of[1:])
		}
	case "between":
		narrow(e.of[0], ">=", e.of[1], column)
		narrow(e.of[0], "<=", e.of[2], column)
	case "=", "<", "<=", ">", ">=":
		left, right, op := e.of[0], e.of[1], e.op
		if left.op == "literal" {
			left, right, op = right, left, map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
		}
		narrow(left, op, right, column)
	}
}

// applyAlternatives applies conditions of which one holds: a column is null or something else, which
// null fulfils anyway, or one of several texts.
func (e *expression) applyAlternatives(column func(string) *Column) {
	rest := slices.DeleteFunc(slices.Clone(e.of), func(of *expression) bool { return of.op == "is null" })
	if len(rest) == 1 && len(e.of) == 2 {
		nulls := e.of[slices.IndexFunc(e.of, func(of *expression) bool { return of.op == "is null" })]
		if c := nulls.of[0].column(column); c != nil && rest[0].about(c, column) {
			applyCheck(rest[0], column)
		}
		return
	}
	var of *Column
	var values []*expression
	for _, one := range rest {
		if one.op != "=" || one.of[1].op != "literal" {
			return
		}
		c := one.of[0].column(column)
		if c == nil || of != nil && c != of {
			return
		}
		of, values = c, append(values, one.of[1])
	}
	if of != nil && len(rest) == len(e.of) {
		of.limitToList(values)
	}
}

// about reports whether a condition is about one column alone.
func (e *expression) about(c *Column, column func(string) *Column) bool {
	if e.op == "name" {
		return column(e.name) == c
	}
	return !slices.ContainsFunc(e.of, func(of *expression) bool { return !of.about(c, column) })
}

// column returns the column that a node is, nil for anything else.
func (e *expression) column(column func(string) *Column) *Column {
	if e.op != "name" {
		return nil
	}
	return column(e.name)
}

// limitToList makes an enum of a column of texts.
func (c *Column) limitToList(values []*expression) {
	var texts []string
	for _, v := range values {
		if v.op != "literal" || !v.is.Quoted {
			return
		}
		if !slices.Contains(texts, v.is.Text) {
			texts = append(texts, v.is.Text)
		}
	}
	if c.Storage == descriptor.Text && c.Form == nil && len(c.Enum) == 0 && len(texts) > 0 && len(texts) <= maxEnum {
		c.Enum = texts
	}
}

// maxEnum is how many values an enum has at most; a longer list is left to the database.
const maxEnum = 500

// narrow applies a comparison with a literal: of a number, or of how long a text is.
func narrow(left *expression, op string, right *expression, column func(string) *Column) {
	if right.op != "literal" || right.is.Quoted && !isNumeric(right.is.Text) {
		return
	}
	n, err := strconv.ParseFloat(right.is.Text, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return
	}
	if left.op == "call" && len(left.of) == 1 && slices.Contains([]string{"length", "char_length", "character_length"}, left.name) {
		if c := left.of[0].column(column); c != nil && c.Storage == descriptor.Text {
			c.narrowLength(op, n)
		}
		return
	}
	if c := left.column(column); c != nil && (c.Storage == descriptor.Int || c.Storage == descriptor.Float) {
		c.narrowRange(op, n)
	}
}

func isNumeric(s string) bool {
	return s != "" && strings.Trim(s, "+-.0123456789eE") == ""
}

// narrowRange applies a bound of numbers. One that excludes itself is a limit of integers alone.
func (c *Column) narrowRange(op string, n float64) {
	whole := c.Storage == descriptor.Int
	least, most := math.Ceil(n), math.Floor(n)
	if !whole {
		least, most = n, n
	}
	switch {
	case op == ">" && whole:
		least = math.Floor(n) + 1
	case op == "<" && whole:
		most = math.Ceil(n) - 1
	case op == ">", op == "<":
		return
	}
	if op == ">" || op == ">=" || op == "=" {
		if c.Min == nil || *c.Min < least {
			c.Min = &least
		}
	}
	if op == "<" || op == "<=" || op == "=" {
		if c.Max == nil || *c.Max > most {
			c.Max = &most
		}
	}
}

func (c *Column) narrowLength(op string, n float64) {
	if n < 0 || n > math.MaxInt32 {
		return
	}
	least, most := int(math.Ceil(n)), int(math.Floor(n))
	switch op {
	case ">":
		least = int(math.Floor(n)) + 1
	case "<":
		most = int(math.Ceil(n)) - 1
	}
	if (op == ">" || op == ">=" || op == "=") && (c.MinLength == nil || *c.MinLength < least) {
		c.MinLength = &least
	}
	if (op == "<" || op == "<=" || op == "=") && most >= 0 && (c.MaxLength == nil || *c.MaxLength > most) {
		c.MaxLength = &most
	}
}
