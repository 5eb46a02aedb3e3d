package javascript

import (
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/framework/fault"
)

const (
	// maxAll is how many items all() returns at most (CONTRACT section 3).
	maxAll = 10_000
	// walkPageSize is the page size of each() and all().
	walkPageSize = 200
)

// firstPage implements firstPage(n?, params?).
func (b entityOp) firstPage(c goja.FunctionCall) goja.Value {
	return b.pageOf(b.s.vm.ToValue(1), c.Argument(0), c.Argument(1))
}

// page implements page(i, n?, params?).
func (b entityOp) page(c goja.FunctionCall) goja.Value {
	return b.pageOf(c.Argument(0), c.Argument(1), c.Argument(2))
}

// pageOf requests one page. The size may be omitted before the parameters.
func (b entityOp) pageOf(page, size, params goja.Value) goja.Value {
	if _, object := size.(*goja.Object); object && goja.IsUndefined(params) {
		size, params = goja.Undefined(), size
	}
	return b.callWith([]string{"page", "pageSize"}, []goja.Value{page, size}, params)
}

// pageOp is the suffix of the ids of operations that return pages.
const pageOp = ".collection"

// makePages creates the prototype of pages, whose length throws. A script that takes a page for
// an array usually fails at once, since a page has no array methods. But length would be
// undefined, and every comparison with it false.
func (s *session) makePages() error {
	s.base.page = s.vm.CreateObject(s.base.object)
	get := s.function("length", 0, func(goja.FunctionCall) goja.Value {
		s.throw(fault.New(fault.JavaScriptError, "TypeError: a page of entities has no length").WithHint("%s", validate.UseItems))
		return nil
	})
	set := s.function("length", 1, func(c goja.FunctionCall) goja.Value {
		if o, ok := c.This.(*goja.Object); ok {
			_ = o.DefineDataProperty("length", c.Argument(0), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		}
		return goja.Undefined()
	})
	return s.base.page.DefineAccessorProperty("length", get, set, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// asPage sets the prototype of pages if v is the output of an operation that returns pages.
func (s *session) asPage(id string, v goja.Value) goja.Value {
	if o, ok := v.(*goja.Object); ok && strings.HasSuffix(id, pageOp) {
		_ = o.SetPrototype(s.base.page)
	}
	return v
}

// walk iterates over the items of a collection, page by page. It uses cursors, so that rows
// which the script inserts or deletes meanwhile do not shift pages, or page numbers if the
// store has no cursors.
type walk struct {
	b      entityOp
	params goja.Value
	count  bool // ask for totalCount with the first page

	page   int64
	cursor goja.Value
	items  []goja.Value
	total  int64 // -1: not known
	done   bool
}

func (b entityOp) walk(params goja.Value, count bool) *walk {
	return &walk{b: b, params: params, count: count, total: -1}
}

// next returns the next item, nil at the end.
func (w *walk) next() goja.Value {
	for len(w.items) == 0 {
		if w.done {
			return nil
		}
		w.fetch()
	}
	v := w.items[0]
	w.items[0] = nil // what the script does not keep is not held until the next page is here
	w.items = w.items[1:]
	return v
}

func (w *walk) fetch() {
	s := w.b.s
	w.page++
	in := s.newInput()
	given, from := s.ownOption(w.params, "cursor") // the script continues after a page that it has
	switch {
	case w.cursor != nil:
		in.without = "cursor"
		in.addOptions(w.params)
		in.add("cursor", w.cursor)
	case from && !goja.IsNull(given):
		in.addOptions(w.params)
	default:
		in.addOptions(w.params)
		in.add("page", s.vm.ToValue(w.page))
	}
	size := int64(walkPageSize)
	if given, ok := s.ownOption(w.params, "pageSize"); ok {
		size = given.ToInteger()
	} else {
		in.add("pageSize", s.vm.ToValue(size))
	}
	if _, given := s.ownOption(w.params, "count"); !given {
		in.add("count", s.vm.ToValue(w.count && w.page == 1))
	}
	out := s.call(w.b.id, in.json())
	w.items = s.elements(s.member(out, "items"))
	if n, ok := s.member(out, "totalCount").Export().(int64); ok {
		w.total = n
	}
	next := s.member(out, "nextCursor")
	if c, ok := next.(goja.String); ok && c.Length() > 0 {
		w.cursor = c
		return
	}
	w.done = w.cursor != nil || goja.IsNull(next) || int64(len(w.items)) < size || len(w.items) == 0
}

// ownOption returns an own member of the options that a script passed; ok is false if it is
// absent or undefined.
func (s *session) ownOption(options goja.Value, name string) (goja.Value, bool) {
	o, ok := options.(*goja.Object)
	if !ok {
		return nil, false
	}
	if v, ok := ownMember(o, name); ok {
		return v, !goja.IsUndefined(v)
	}
	return nil, false
}

// elements returns the items of a decoded array, nil if v is not an array.
func (s *session) elements(v goja.Value) []goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Array" {
		return nil
	}
	n := o.Get("length").ToInteger()
	out := make([]goja.Value, n)
	for i := range out { // the script may have replaced the iterator
		out[i] = o.Get(strconv.Itoa(i))
	}
	return out
}

// each returns an iterator that requests a page when its first item is needed.
func (b entityOp) each(c goja.FunctionCall) goja.Value {
	s := b.s
	w := b.walk(c.Argument(0), false)
	it := s.vm.NewObject()
	_ = it.SetPrototype(s.base.iterator) // for the iterator helpers
	step := func(v goja.Value, done bool) goja.Value {
		o := s.vm.NewObject()
		s.define(o, "value", v)
		s.define(o, "done", s.vm.ToValue(done))
		return o
	}
	s.method(it, "next", 0, func(goja.FunctionCall) goja.Value {
		if v := w.next(); v != nil {
			return step(v, false)
		}
		return step(goja.Undefined(), true)
	})
	s.method(it, "return", 1, func(c goja.FunctionCall) goja.Value {
		w.done, w.items = true, nil
		return step(c.Argument(0), true)
	})
	self := s.function("[Symbol.iterator]", 0, func(goja.FunctionCall) goja.Value { return it })
	_ = it.DefineDataPropertySymbol(goja.SymIterator, self, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return it
}

// all returns every item. If there are more than maxAll it throws a fault rather than return
// some of them.
func (b entityOp) all(c goja.FunctionCall) goja.Value {
	w := b.walk(c.Argument(0), true)
	items := []any{}
	for v := w.next(); v != nil; v = w.next() {
		if w.total > maxAll || len(items) == maxAll {
			b.s.throw(fault.Newf(fault.ResultTooLarge, "all() returns at most %d items, and there are more", maxAll).
				WithHint("Narrow it with `filter`, or go through the items with each()."))
		}
		items = append(items, v)
	}
	return b.s.vm.NewArray(items...)
}
