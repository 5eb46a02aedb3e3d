package javascript

import (
	"errors"
	"sync"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script/pattern"
)

// maxPatterns bounds for how many rewritten patterns the original source is kept.
const maxPatterns = 1000

// regexps is RegExp in a script that uses it.
type regexps struct {
	js *engine
	// sources are the original sources of rewritten regular expressions, by the rewritten ones.
	sources map[string]string
	proto   *goja.Object // RegExp.prototype
}

// install replaces RegExp by a class that rewrites patterns with package pattern, as the
// compiler does with literals.
func (rx *regexps) install() error {
	vm := rx.js.vm
	getter, err := vm.RunProgram(sourceGetter())
	if err != nil {
		return err
	}
	source, _ := goja.AssertFunction(getter)
	original := vm.Get("RegExp").(*goja.Object)
	proto := original.Get("prototype").(*goja.Object)
	rx.proto = proto
	construct, _ := goja.AssertConstructor(original)
	class := vm.ToValue(func(c goja.ConstructorCall) *goja.Object {
		return rx.newRegExp(construct, c.Arguments, c.NewTarget)
	}).(*goja.Object)
	for name, v := range map[string]any{"name": "RegExp", "length": 2} {
		_ = class.DefineDataProperty(name, vm.ToValue(v), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	_ = class.DefineDataProperty("prototype", proto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	// The engine takes its fast paths only for its own class.
	species := rx.js.function("get [Symbol.species]", 0, func(goja.FunctionCall) goja.Value { return original })
	_ = class.DefineAccessorPropertySymbol(goja.SymSpecies, species, nil, goja.FLAG_FALSE, goja.FLAG_FALSE)
	rx.js.hide(proto, "constructor", class)
	rx.js.hide(vm.GlobalObject(), "RegExp", class)
	_ = proto.Delete("compile") // it would bypass the rewriting; deprecated
	text := func(c goja.FunctionCall) (string, goja.Value) {
		v, err := source(c.This)
		if err != nil {
			panic(err)
		}
		str, _ := v.(goja.String)
		if str == nil {
			return "", v
		}
		return str.String(), v
	}
	rx.js.getter(proto, "source", func(c goja.FunctionCall) goja.Value {
		got, v := text(c)
		if written, ok := rx.sources[got]; ok {
			return vm.ToValue(pattern.Shown(written))
		}
		return v
	})
	rx.js.hide(proto, "toString", rx.js.function("toString", 0, func(c goja.FunctionCall) goja.Value {
		re := c.This.ToObject(vm)
		return vm.ToValue("/" + re.Get("source").String() + "/" + re.Get("flags").String())
	}))
	for _, name := range []string{"hasIndices", "unicodeSets"} { // flags that the engine does not support
		rx.js.getter(proto, name, func(goja.FunctionCall) goja.Value { return vm.ToValue(false) })
	}
	return nil
}

var sourceGetter = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile("prelude", `Object.getOwnPropertyDescriptor(RegExp.prototype, "source").get`, false)
})

// newRegExp implements RegExp and new RegExp.
func (rx *regexps) newRegExp(construct goja.Constructor, args []goja.Value, newTarget *goja.Object) *goja.Object {
	if newTarget != nil && newTarget.Get("prototype") == rx.proto {
		newTarget = nil
	}
	if len(args) > 1 && !goja.IsUndefined(args[1]) {
		args = rx.rewriteArguments(args)
	}
	o, err := construct(newTarget, args...)
	if err != nil {
		panic(err)
	}
	return o
}

// rewriteArguments returns the arguments with a pattern that the engine executes correctly. If
// the pattern is a regular expression, it has been rewritten before.
func (rx *regexps) rewriteArguments(args []goja.Value) []goja.Value {
	flags := args[1].ToString()
	if o, ok := args[0].(*goja.Object); ok && o.ClassName() == "RegExp" {
		return []goja.Value{o, flags}
	}
	text := goja.Value(rx.js.vm.ToValue(""))
	if !goja.IsUndefined(args[0]) {
		text = args[0].ToString()
	}
	written := text.String()
	got, err := pattern.Rewrite(written, flags.String())
	var refused *pattern.Error
	if errors.As(err, &refused) {
		rx.throwSyntaxError(refused.Error())
	}
	if got == written {
		return []goja.Value{text, flags}
	}
	if len(rx.sources) < maxPatterns {
		if rx.sources == nil {
			rx.sources = map[string]string{}
		}
		rx.sources[got] = written
	}
	return []goja.Value{rx.js.vm.ToValue(got), flags}
}

func (rx *regexps) throwSyntaxError(message string) {
	o, err := rx.js.vm.New(rx.js.base.errors.syntax, rx.js.vm.ToValue(message))
	if err != nil {
		panic(err)
	}
	panic(o)
}
