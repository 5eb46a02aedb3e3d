package read

import (
	"encoding/json"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// The members of each operation's input.
var (
	collectionKeys = catalog.EntityInputs("collection")
	getKeys        = catalog.EntityInputs("get-by-id")
	countKeys      = catalog.EntityInputs("count")
	aggregateKeys  = catalog.EntityInputs("aggregate")
)

// input is one operation's input while it is being checked.
type input struct {
	entity  *descriptor.Entity
	graph   filter.Graph
	members map[string]any
	guards  filter.Guards
	details []fault.Detail
	edges   int
}

// full reports whether enough is known of what is wrong.
func (in *input) full() bool { return len(in.details) >= fault.MaxFound }

func (in *input) fail(at, message string) {
	if in.full() {
		return
	}
	in.details = append(in.details, fault.Detail{Path: at, Message: message})
}

func (in *input) wrong(at, message, expected string, got any) {
	if in.full() {
		return
	}
	in.details = append(in.details, fault.Detail{Path: at, Message: message, Expected: expected, Received: filter.Describe(got)})
}

// open reads the object, and reports every member that is not known and a set that has no
// name.
func open(raw json.RawMessage, e *descriptor.Entity, g filter.Graph, known []string) *input {
	in := &input{entity: e, graph: g}
	v, problem := filter.Input(raw)
	if problem != nil {
		in.details = append(in.details, *problem)
		return in
	}
	m, ok := v.(map[string]any)
	if !ok {
		in.wrong("", "the input must be an object", "object", v)
		return in
	}
	in.members = m
	in.unknown("", "input", m, known)
	set, named := m["set"]
	if _, ok := set.(string); named && !ok {
		in.wrong("/set", "set must be the name of a set", "string", set)
	}
	return in
}

func (in *input) unknown(at, what string, m map[string]any, known []string) {
	for _, key := range sorted(m) {
		if !contains(known, key) && !in.full() {
			in.fail(at+"/"+filter.Escape(key), "unknown "+what+" "+filter.Quote(key)+fault.DidYouMean(key, known))
		}
	}
}

// DecodeCollection checks an input of the operation collection. It ends in
// invalid_payload with everything that is wrong; whether a cursor belongs to the
// query is seen when the collection is read, since only then the set is known.
func DecodeCollection(raw json.RawMessage, e *descriptor.Entity, g filter.Graph) (*Collection, error) {
	in := open(raw, e, g, collectionKeys)
	c := &Collection{}
	c.Filter = in.filter(e, in.members, "")
	if given, _ := in.members["filter"].(map[string]any); len(given) > 0 {
		c.given = given
	}
	c.Words = in.words()
	c.Page = in.integer("page", 1, 1, maxPage)
	c.PageSize = in.integer("pageSize", defaultPageSize, 1, maxPageSize)
	c.after = in.cursor()
	if c.after != nil {
		c.Page = c.after.page
	}
	c.Count = c.after == nil
	if v, ok := in.members["count"]; ok {
		if c.Count, ok = v.(bool); !ok {
			in.wrong("/count", "count must be true or false", "boolean", v)
		}
	}
	c.order = in.sort(e, in.members, "")
	if _, sorted := in.members["sort"]; !sorted && !c.Words.Empty() {
		c.order = append([]term{{rank: c.Words, descending: true}}, c.order...)
	}
	c.reads = in.selection(e, in.members, "", 1)
	c.Query = in.query()
	return c, in.err()
}

// cursor reads a cursor; nil if there is none. Null is none: a loop that begins
// with it and goes on with nextCursor is what people write.
func (in *input) cursor() *parsedCursor {
	v := in.members["cursor"]
	if v == nil {
		return nil
	}
	s, ok := v.(string)
	if !ok || len(s) > MaxCursor {
		in.wrong("/cursor", "cursor must be the nextCursor of a page; leave it out, or send null, to start with the first page", "string", v)
		return nil
	}
	if _, ok := in.members["page"]; ok {
		in.fail("/page", "page and cursor exclude each other")
	}
	t, err := readCursor(s)
	if err != nil {
		in.wrong("/cursor", err.Error()+"; send the nextCursor of a page unchanged", "cursor", v)
	}
	return t
}

// DecodeGet checks an input of the operation get-by-id. It ends in
// invalid_payload with everything that is wrong.
func DecodeGet(raw json.RawMessage, e *descriptor.Entity, g filter.Graph) (*Get, error) {
	in := open(raw, e, g, getKeys)
	out := &Get{guard: in.guards.Of(e)}
	if id, ok := in.members["id"]; ok {
		seen, d := filter.Key(e, id, "/id")
		if d == nil {
			out.ID = showKey(seen)
			out.Key, d = filter.Held(&e.Key, &e.Resource.Key, seen, "/id")
		}
		if d != nil {
			in.details = append(in.details, *d)
		}
	} else if in.members != nil {
		in.wrong("/id", "id is required", "id", nil)
	}
	out.reads = in.selection(e, in.members, "", 1)
	out.Query = in.query()
	return out, in.err()
}

// DecodeCount checks an input of the operation count. It ends in
// invalid_payload with everything that is wrong.
func DecodeCount(raw json.RawMessage, e *descriptor.Entity, g filter.Graph) (*Count, error) {
	in := open(raw, e, g, countKeys)
	c := &Count{Filter: in.filter(e, in.members, "")}
	c.Query = in.query()
	return c, in.err()
}

func (in *input) err() error {
	if len(in.details) == 0 {
		return nil
	}
	return fault.Invalid(in.details...)
}

// query is what all inputs have. It comes last, when the input's guards are known.
func (in *input) query() Query {
	set, named := in.members["set"].(string)
	return Query{Entity: in.entity, Set: set, Named: named, guards: in.guards}
}

// filter reads a filter; where there is none the entity's rule still holds.
func (in *input) filter(e *descriptor.Entity, m map[string]any, at string) *filter.Tree {
	v, ok := m["filter"]
	if !ok {
		return filter.Guarded(in.guards.Of(e))
	}
	tree, details := filter.Check(v, e, in.graph, at+"/filter", &in.guards)
	in.details = append(in.details, details...)
	return tree
}

func (in *input) integer(name string, normal, low, high int) int {
	v, ok := in.members[name]
	if !ok {
		return normal
	}
	n, ok := filter.Integer(v)
	if !ok || n < int64(low) || n > int64(high) {
		in.wrong("/"+name, name+" must be from "+strconv.Itoa(low)+" to "+strconv.Itoa(high), "integer", v)
		return normal
	}
	return int(n)
}

func (in *input) words() *filter.Words {
	v, ok := in.members["q"]
	if !ok {
		return nil
	}
	words, d := filter.ParseWords(in.entity, v, "/q", "q")
	if d != nil {
		in.details = append(in.details, *d)
	}
	return words
}

// showKey returns an id as callers see it.
func showKey(key any) string {
	switch k := key.(type) {
	case string:
		return k
	case int64:
		return strconv.FormatInt(k, 10)
	}
	return ""
}
