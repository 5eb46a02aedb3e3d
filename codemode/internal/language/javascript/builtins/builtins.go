// Package builtins adds parts of ECMAScript 2025, the Web platform and Intl that the engine lacks:
// Object.groupBy, iterator helpers, structuredClone, URL, TextEncoder, Intl for English, and more.
//
// Each is defined as an accessor that replaces itself by the value at its first use, so that a
// script pays only for what it uses. Nothing here can reach the host, so a script that changes the
// prototypes which this code uses harms only itself.
//
// What belongs here: general built-ins, in JavaScript if they work on objects and in Go if they
// work on text. Not here: SDK, the network, the system's clock or randomness.
package builtins

import (
	_ "embed"
	"errors"
	"strings"
	"sync"

	"github.com/dop251/goja"
	_ "time/tzdata" // the confinement hides the system's time zones
)

// Host is what the built-ins need from the run.
type Host struct {
	// Function returns a function value of the engine.
	Function func(name string, length int, f func(goja.FunctionCall) goja.Value) *goja.Object
	// Warn writes a message to the logs, unless it has been written before.
	Warn func(message string)
	// OriginMs returns the time at which the script started, in Unix milliseconds.
	OriginMs func() int64
}

//go:embed language.js
var languageSource string

//go:embed web.js
var webSource string

//go:embed intl.js
var intlSource string

//go:embed lazy.js
var lazySource string

// sourceName is the name in stacks, the same as for the engine's own code.
const sourceName = "native"

func program(source *string) func() *goja.Program {
	return sync.OnceValue(func() *goja.Program { return goja.MustCompile(sourceName, *source, false) })
}

// lazy and the sources are compiled at their first use.
var (
	lazy    = program(&lazySource)
	sources = []func() *goja.Program{program(&languageSource), program(&webSource), program(&intlSource)}
)

// The sources by number.
const (
	fromLanguage = iota
	fromWeb
	fromIntl
)

// where lists what a source defines in an object.
type where struct {
	source int
	holder string // a path of globals, "" for the global object itself
	names  []string
}

var defined = []where{
	{fromLanguage, "Object", []string{"groupBy"}},
	{fromLanguage, "Map", []string{"groupBy"}},
	{fromLanguage, "Map.prototype", []string{"getOrInsert", "getOrInsertComputed"}},
	{fromLanguage, "Array", []string{"fromAsync"}},
	{fromLanguage, "Promise", []string{"withResolvers", "try"}},
	{fromLanguage, "String.prototype", []string{"isWellFormed", "toWellFormed"}},
	{fromLanguage, "Error", []string{"isError"}},
	{fromLanguage, "RegExp", []string{"escape"}},
	{fromLanguage, "", []string{"WeakRef", "FinalizationRegistry", "Iterator"}},
	{fromLanguage, iteratorPrototype, []string{
		"map", "filter", "take", "drop", "flatMap", "reduce", "toArray", "forEach", "some", "every", "find",
	}},
	{fromWeb, "", []string{
		"structuredClone", "atob", "btoa", "DOMException", "TextEncoder", "TextDecoder", "URL", "URLSearchParams", "crypto", "performance",
	}},
	{fromIntl, "", []string{"Intl"}},
	{fromIntl, "Number.prototype", []string{"toLocaleString"}},
	{fromIntl, "BigInt.prototype", []string{"toLocaleString"}},
	{fromIntl, "Date.prototype", []string{"toLocaleString", "toLocaleDateString", "toLocaleTimeString"}},
	{fromIntl, "Array.prototype", []string{"toLocaleString"}},
	{fromIntl, "String.prototype", []string{"localeCompare", "toLocaleUpperCase", "toLocaleLowerCase"}},
}

// iteratorPrototype is the name of %IteratorPrototype%.
const iteratorPrototype = "Iterator.prototype"

// Install defines the built-ins in a fresh engine. Since defining one takes a few microseconds,
// those whose names do not occur in the script's code are left out. iterator is
// %IteratorPrototype%, which cannot be reached from a global.
func Install(vm *goja.Runtime, code string, iterator *goja.Object, h Host) error {
	symbols := vm.Get("Symbol").(*goja.Object)
	for _, name := range []string{"asyncIterator", "dispose", "asyncDispose"} {
		if err := symbols.DefineDataProperty(name, goja.NewSymbol("Symbol."+name), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE); err != nil {
			return err
		}
	}
	in := &installer{vm: vm, host: h, iterator: iterator, made: make([]*goja.Object, len(sources))}
	list := in.wanted(code)
	if len(list) == 0 {
		return nil
	}
	_, err := in.call(lazy(), h.Function("load", 2, in.load), vm.NewArray(list...))
	return err
}

// wanted returns the arguments of lazy.js: four for each built-in that the code may use.
func (in *installer) wanted(code string) []any {
	var list []any
	for _, w := range defined {
		var holder *goja.Object
		for _, name := range w.names {
			if !strings.Contains(code, name) {
				continue
			}
			if holder == nil {
				holder = in.holder(w.holder)
			}
			prefix := w.holder
			if prefix != "" {
				prefix += "."
			}
			list = append(list, w.source, holder, prefix, name)
		}
	}
	return list
}

func (in *installer) holder(path string) *goja.Object {
	if path == iteratorPrototype {
		return in.iterator
	}
	o := in.vm.GlobalObject()
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		o = o.Get(name).(*goja.Object)
	}
	return o
}

type installer struct {
	vm       *goja.Runtime
	host     Host
	iterator *goja.Object
	made     []*goja.Object // the objects that the sources returned
}

// load implements load(source, name), which returns a value that a source defines.
func (in *installer) load(c goja.FunctionCall) goja.Value {
	i := c.Argument(0).ToInteger()
	if in.made[i] == nil {
		v, err := in.call(sources[i](), in.natives())
		if err != nil {
			panic(err)
		}
		in.made[i] = v.(*goja.Object)
	}
	return in.made[i].Get(c.Argument(1).String())
}

// call calls the function that a program returns.
func (in *installer) call(p *goja.Program, args ...goja.Value) (goja.Value, error) {
	v, err := in.vm.RunProgram(p)
	if err != nil {
		return nil, err
	}
	f, ok := goja.AssertFunction(v)
	if !ok {
		return nil, errors.New("builtins: a source is not a function")
	}
	return f(goja.Undefined(), args...)
}

// natives returns the object of Go functions that is passed to the sources.
func (in *installer) natives() *goja.Object {
	o := in.vm.NewObject()
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{
		"atob": in.atob, "btoa": in.btoa, "encode": in.encode, "decode": in.decode, "unform": in.unform,
		"url": in.url, "urlWith": in.urlWith, "zone": in.zone, "collate": newCollator(in.vm).compare,
		"origin": func(goja.FunctionCall) goja.Value { return in.vm.ToValue(in.host.OriginMs()) },
		"warn": func(c goja.FunctionCall) goja.Value {
			in.host.Warn(c.Argument(0).String())
			return goja.Undefined()
		},
	} {
		_ = o.DefineDataProperty(name, in.host.Function(name, 0, f), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
	return o
}
