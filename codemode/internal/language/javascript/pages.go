package javascript

import (
	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/framework/fault"
)

// makePages creates the prototype of pages, whose length throws. A script that takes a page for
// an array usually fails at once, since a page has no array methods. But length would be
// undefined, and every comparison with it false.
func (sd *sdk) makePages() error {
	sd.js.page = sd.js.vm.CreateObject(sd.js.base.object)
	get := sd.js.function("length", 0, func(goja.FunctionCall) goja.Value {
		sd.faults.throw(fault.New(fault.JavaScriptError, "TypeError: a page of entities has no length").WithHint("%s", validate.UseItems))
		return nil
	})
	set := sd.js.function("length", 1, func(c goja.FunctionCall) goja.Value {
		if o, ok := c.This.(*goja.Object); ok {
			_ = o.DefineDataProperty("length", c.Argument(0), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		}
		return goja.Undefined()
	})
	return sd.js.page.DefineAccessorProperty("length", get, set, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// walk iterates over the items of a collection, page by page.
type walk struct {
	bind.Walk
	b      *entityMethod
	params goja.Value
	items  []goja.Value
}

// next returns the next item, nil at the end.
func (w *walk) next() goja.Value {
	for len(w.items) == 0 {
		if w.Done() {
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
	sd := w.b.sdk
	in := sd.inputs.newInput()
	cursor, fromCursor := ownOption(w.params, "cursor")
	pageSize, sized := ownOption(w.params, "pageSize")
	_, counted := ownOption(w.params, "count")
	members, without := w.Next(bind.Given{Cursor: fromCursor && !goja.IsNull(cursor), PageSize: sized, Count: counted})
	in.without = without
	in.addOptions(w.params)
	for _, m := range members {
		in.add(m.Name, sd.js.vm.ToValue(m.Value))
	}
	page := bind.Page{Size: bind.WalkPageSize}
	if sized {
		page.Size = pageSize.ToInteger()
	}
	out := sd.calls.call(w.b.id, in.json())
	w.items = elements(member(out, "items"))
	page.Items = int64(len(w.items))
	page.Total, _ = member(out, "totalCount").Export().(int64)
	next := member(out, "nextCursor")
	page.Last = goja.IsNull(next)
	if c, ok := next.(goja.String); ok {
		page.Cursor = c.String()
	}
	w.Take(page)
}

// ownOption returns an own member of the options that a script passed; ok is false if it is
// absent or undefined.
func ownOption(options goja.Value, name string) (goja.Value, bool) {
	o, ok := options.(*goja.Object)
	if !ok {
		return nil, false
	}
	if v, ok := ownMember(o, name); ok {
		return v, !goja.IsUndefined(v)
	}
	return nil, false
}

// each returns an iterator that requests a page when its first item is needed.
func (b *entityMethod) each(c goja.FunctionCall) goja.Value {
	sd := b.sdk
	w := &walk{b: b, params: c.Argument(0)}
	it := sd.js.vm.NewObject()
	_ = it.SetPrototype(sd.js.base.iterator) // for the iterator helpers
	step := func(v goja.Value, done bool) goja.Value {
		o := sd.js.vm.NewObject()
		sd.js.define(o, "value", v)
		sd.js.define(o, "done", sd.js.vm.ToValue(done))
		return o
	}
	sd.js.method(it, "next", 0, func(goja.FunctionCall) goja.Value {
		if v := w.next(); v != nil {
			return step(v, false)
		}
		return step(goja.Undefined(), true)
	})
	sd.js.method(it, "return", 1, func(c goja.FunctionCall) goja.Value {
		w.End()
		w.items = nil
		return step(c.Argument(0), true)
	})
	self := sd.js.function("[Symbol.iterator]", 0, func(goja.FunctionCall) goja.Value { return it })
	_ = it.DefineDataPropertySymbol(goja.SymIterator, self, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return it
}

// all returns every item. If there are more than bind.MaxAll it throws a fault rather than return
// some of them.
func (b *entityMethod) all(c goja.FunctionCall) goja.Value {
	w := &walk{b: b, params: c.Argument(0), Walk: bind.Walk{Counts: true}}
	items := []any{}
	for v := w.next(); v != nil; v = w.next() {
		if w.Total() > bind.MaxAll || len(items) == bind.MaxAll {
			b.sdk.faults.throw(fault.Newf(fault.ResultTooLarge, "all() returns at most %d items, and there are more", bind.MaxAll).
				WithHint("Narrow it with `filter`, or go through the items with each()."))
		}
		items = append(items, v)
	}
	return b.sdk.js.vm.NewArray(items...)
}
