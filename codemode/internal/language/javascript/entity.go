package javascript

import (
	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// entity returns SDK.Entities.<Name> with the methods of its operations.
func (sd *sdk) entity(e wire.Entity) *goja.Object {
	o := sd.js.vm.NewObject()
	for _, op := range e.Ops {
		for _, m := range bind.Methods(op) {
			b := &entityMethod{Method: m, sdk: sd, entity: e.Name, id: catalog.EntityID(e.Name, op).String()}
			call := b.call
			switch {
			case m.Walks && m.Returns == catalog.ReturnsIterator:
				call = b.each
			case m.Walks:
				call = b.all
			}
			sd.js.method(o, m.Name, len(m.Arguments)+1, call)
		}
	}
	return o
}

// entityMethod is a method that calls one operation of an entity.
type entityMethod struct {
	bind.Method
	sdk    *sdk
	entity string
	id     string
}

// call makes the call that the method stands for.
func (b *entityMethod) call(c goja.FunctionCall) goja.Value {
	args, options := b.arguments(c)
	v, f := b.sdk.calls.try(b.id, b.input(args, options))
	if f != nil {
		if f.Code == fault.NotFound && b.Returns == catalog.ReturnsEntityOrNull {
			return goja.Null()
		}
		_, bare := options.(goja.String)
		b.throwFault(f, bare)
	}
	if v = b.sdk.js.asPage(b.id, v); b.Output != "" {
		return member(v, b.Output)
	}
	return v
}

// arguments returns the arguments by position, and the options behind them.
func (b *entityMethod) arguments(c goja.FunctionCall) (args []goja.Value, options goja.Value) {
	n := len(b.Arguments)
	options = c.Argument(n)
	switch first := c.Argument(0).(type) {
	case goja.String:
		if b.LoneSet && len(c.Arguments) == 1 {
			return nil, first
		}
	}
	if b.Loose && goja.IsUndefined(options) {
		if last, ok := c.Argument(n - 1).(*goja.Object); ok {
			return c.Arguments[:n-1], last
		}
	}
	return c.Arguments[:min(n, len(c.Arguments))], options
}

func (b *entityMethod) input(args []goja.Value, options goja.Value) []byte {
	in := b.sdk.inputs.newInput()
	for _, m := range b.Fixed {
		in.add(m.Name, b.sdk.js.vm.ToValue(m.Value))
	}
	for i, v := range args {
		in.add(b.Arguments[i], v)
	}
	in.addOptions(options)
	return in.json()
}

// throwFault throws the fault of the method's call, with a hint for scripts. bareSet says that
// the options were a string, which names the set.
func (b *entityMethod) throwFault(f *fault.Fault, bareSet bool) {
	known := *f
	switch e, _ := fault.Lookup(f.Code); {
	case f.Code == fault.UnknownSet && bareSet:
		known.Hint += " A bare string names the set; options are an object: {filter: {...}}."
	case f.Code == fault.NotFound && b.OrNull != "" && f.Hint == e.Hint:
		known.Hint += " " + b.OrNull + " returns null instead of throwing."
	case f.Code == fault.InvalidPayload:
		b.sdk.faults.madeBy[&known] = b
	}
	b.sdk.faults.throw(&known)
}
