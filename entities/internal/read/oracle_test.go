package read_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/koan-go/koan/entities/internal/library"
)

// world is the library in memory, with the language of filters evaluated the
// plain way, as the measure of the engine.
type world struct {
	data      library.Data
	nullsLast bool // in an ascending order
}

// newWorld holds data as the database of a test sorts it.
func newWorld(t testing.TB, d library.Data) world {
	return world{d, !library.Dialect(t).NullsFirst()}
}

// order compares two values in a sort.
func (w world) order(a, b any) int {
	if w.nullsLast && (a == nil || b == nil) {
		return order(b, a)
	}
	return order(a, b)
}

// orderNulls is order in a direction, with nulls "first" or "last", or where the database has them for "".
func (w world) orderNulls(a, b any, down bool, nulls string) int {
	switch {
	case nulls != "" && (a == nil || b == nil):
		if nulls == "last" {
			return order(b, a)
		}
		return order(a, b)
	case down:
		return -w.order(a, b)
	}
	return w.order(a, b)
}

// at returns the value at a path over to-one relationships, nil where one leads nowhere.
func (w world) at(r record, path string) any {
	for first, rest, more := strings.Cut(path, "."); ; first, rest, more = strings.Cut(rest, ".") {
		if !more {
			return r[first]
		}
		to, _, _ := w.edge(r, first)
		if len(to) == 0 {
			return nil
		}
		r = to[0]
	}
}

type record map[string]any // int64, float64, string, bool, time.Time, library.Day or nil

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func (w world) author(i int) record {
	a := w.data.Authors[i]
	return record{"id": a.ID, "name": a.Name, "born": deref(a.Born), "mentorId": deref(a.Mentor), "?": "Author"}
}

func (w world) book(i int) record {
	b := w.data.Books[i]
	r := record{
		"id": b.ID, "title": b.Title, "blurb": deref(b.Blurb), "pages": deref(b.Pages), "sold": b.Sold, "price": deref(b.Price), "inPrint": b.InPrint,
		"publishedAt": deref(b.PublishedAt), "createdAt": b.CreatedAt, "orderedOn": deref(b.OrderedOn), "genre": deref(b.Genre), "meta": document(b.Meta), "keywords": document(b.Keywords), "isbn": deref(b.ISBN),
		"cost": nil, "cover": nil, "authorId": deref(b.Author), "tagIds": b.Tags, "?": "Book",
	}
	if b.Cost != nil {
		r["cost"], _ = strconv.ParseFloat(*b.Cost, 64)
	}
	if b.Cover != nil {
		r["cover"] = string(b.Cover)
	}
	return r
}

func (w world) desk(i int) record {
	d := w.data.Desks[i]
	return record{"id": d.ID, "room": d.Room, "ownerId": deref(d.Owner), "?": "Desk"}
}

func (w world) tag(i int) record {
	return record{"id": w.data.Tags[i].ID, "label": w.data.Tags[i].Label, "?": "Tag"}
}

func (w world) all(entity string) []record {
	var out []record
	switch entity {
	case "Author":
		for i := range w.data.Authors {
			out = append(out, w.author(i))
		}
	case "Book":
		for i := range w.data.Books {
			out = append(out, w.book(i))
		}
	case "Desk":
		for i := range w.data.Desks {
			out = append(out, w.desk(i))
		}
	case "Tag":
		for i := range w.data.Tags {
			out = append(out, w.tag(i))
		}
	}
	return out
}

// edge returns the records that a relationship leads to; ok is false for a field.
func (w world) edge(r record, name string) (to []record, many, ok bool) {
	where := func(entity string, keep func(record) bool) []record {
		return slices.DeleteFunc(w.all(entity), func(o record) bool { return !keep(o) })
	}
	switch r["?"].(string) + "." + name {
	case "Book.author":
		return where("Author", func(o record) bool { return o["id"] == r["authorId"] }), false, true
	case "Book.tags":
		return where("Tag", func(o record) bool { return slices.Contains(r["tagIds"].([]int64), o["id"].(int64)) }), true, true
	case "Author.mentor":
		return where("Author", func(o record) bool { return o["id"] == r["mentorId"] }), false, true
	case "Author.desk":
		return where("Desk", func(o record) bool { return o["ownerId"] == r["id"] }), false, true
	case "Desk.owner":
		return where("Author", func(o record) bool { return o["id"] == r["ownerId"] }), false, true
	case "Author.pupils":
		return where("Author", func(o record) bool { return o["mentorId"] == r["id"] }), true, true
	case "Author.books":
		return where("Book", func(o record) bool { return o["authorId"] == r["id"] }), true, true
	case "Tag.books":
		return where("Book", func(o record) bool { return slices.Contains(o["tagIds"].([]int64), r["id"].(int64)) }), true, true
	}
	return nil, false, false
}

func (w world) matches(r record, filter map[string]any) bool {
	for key, v := range filter {
		if !w.member(r, key, v) {
			return false
		}
	}
	return true
}

func (w world) member(r record, key string, v any) bool {
	some := func(list any) bool {
		return slices.ContainsFunc(list.([]any), func(f any) bool { return w.matches(r, f.(map[string]any)) })
	}
	switch key {
	case "$and":
		return !slices.ContainsFunc(v.([]any), func(f any) bool { return !w.matches(r, f.(map[string]any)) })
	case "$or":
		return some(v)
	case "$nor":
		return !some(v)
	case "$not":
		return !w.matches(r, v.(map[string]any))
	case "$search":
		return searched(r, v.(string))
	}
	if d, ok := r[key].(doc); ok {
		return d.matches(v)
	}
	to, many, ok := w.edge(r, key)
	if !ok {
		return condition(r[key], v)
	}
	if v == nil {
		return len(to) == 0
	}
	holds := func(f any) func(record) bool {
		return func(o record) bool { return w.matches(o, f.(map[string]any)) }
	}
	if !many {
		return slices.ContainsFunc(to, holds(v))
	}
	for op, f := range v.(map[string]any) {
		yes := false
		switch op {
		case "$some":
			yes = slices.ContainsFunc(to, holds(f))
		case "$none":
			yes = !slices.ContainsFunc(to, holds(f))
		case "$every":
			yes = !slices.ContainsFunc(to, func(o record) bool { return !holds(f)(o) })
		case "$exists":
			yes = (len(to) > 0) == f.(bool)
		}
		if !yes {
			return false
		}
	}
	return true
}

// condition compares one value; null equals null only and is never in an order.
func condition(have, want any) bool {
	ops, ok := want.(map[string]any)
	if !ok {
		return equal(have, want)
	}
	for op, v := range ops {
		if !holds(have, op, v) {
			return false
		}
	}
	return true
}

func holds(have any, op string, v any) bool {
	in := func() bool { return slices.ContainsFunc(v.([]any), func(x any) bool { return equal(have, x) }) }
	switch op {
	case "$eq":
		return equal(have, v)
	case "$ne":
		return !equal(have, v)
	case "$in":
		return in()
	case "$nin":
		return !in()
	case "$null":
		return (have == nil) == v.(bool)
	case "$between":
		return holds(have, "$gte", v.([]any)[0]) && holds(have, "$lte", v.([]any)[1])
	}
	if have == nil {
		return false
	}
	switch op {
	case "$lt":
		return order(have, like(have, v)) < 0
	case "$lte":
		return order(have, like(have, v)) <= 0
	case "$gt":
		return order(have, like(have, v)) > 0
	case "$gte":
		return order(have, like(have, v)) >= 0
	}
	s := have.(string)
	if op == "$iin" {
		return slices.ContainsFunc(v.([]any), func(x any) bool { return fold(s) == fold(x.(string)) })
	}
	part := v.(string)
	switch op {
	case "$contains":
		return strings.Contains(s, part)
	case "$ieq":
		return fold(s) == fold(part)
	case "$icontains":
		return strings.Contains(fold(s), fold(part))
	case "$startsWith":
		return strings.HasPrefix(s, part)
	case "$endsWith":
		return strings.HasSuffix(s, part)
	}
	panic(op)
}

func equal(have, v any) bool {
	if have == nil || v == nil {
		return have == nil && v == nil
	}
	return order(have, like(have, v)) == 0
}

// like reads a JSON value as the type that it is compared with.
func like(have, v any) any {
	switch have.(type) {
	case int64:
		n, err := strconv.ParseInt(show(v), 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	case float64:
		x, err := strconv.ParseFloat(show(v), 64)
		if err != nil {
			panic(err)
		}
		return x
	case library.Day:
		return library.Day(v.(string))
	case time.Time:
		t, err := time.Parse(time.RFC3339Nano, v.(string))
		if err != nil {
			panic(err)
		}
		return t
	}
	return v
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// order compares two values of a type, null first.
func order(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(rank(a), rank(b))
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return cmp.Compare(a, b.(string))
	case library.Day:
		return cmp.Compare(a, b.(library.Day))
	case time.Time:
		return a.Compare(b.(time.Time))
	case bool:
		return cmp.Compare(number(a), number(b.(bool)))
	}
	panic(a)
}

func rank(v any) int { return number(v != nil) }

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
