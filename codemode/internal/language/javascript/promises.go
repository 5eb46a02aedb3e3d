package javascript

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/framework/fault"
)

// promises watches those that functions of modules return. Whoever forgets `await` reads members that a
// promise does not have, and tests what is always true: JavaScript says nothing of either.
type promises struct {
	js        *engine
	job       *assignment
	host      *connection
	positions *positions
	faults    *faults

	proto *goja.Object // of these promises; nil until there is one
	// open are those that nothing has awaited so far, at most maxSites.
	open []openPromise
}

type openPromise struct {
	promise *goja.Object
	name    string // of the function
	stack   []goja.StackFrame
}

// watched returns the object of a promise that a function of a module returns.
func (pr *promises) watched(p *goja.Promise, name string, stack []goja.StackFrame) *goja.Object {
	o := pr.js.vm.ToValue(p).(*goja.Object)
	if pr.proto == nil {
		pr.proto = pr.promiseProto(o.Prototype())
	}
	if err := o.SetPrototype(pr.proto); err != nil {
		panic(err)
	}
	if len(pr.open) < maxSites {
		pr.open = append(pr.open, openPromise{o, name, stack})
	}
	return o
}

// promiseProto returns the prototype of watched promises: as native, but it throws for members that no
// promise has, and where one is turned into a text or a number.
func (pr *promises) promiseProto(native *goja.Object) *goja.Object {
	throw := func(why, hint string) {
		pr.faults.throw(fault.New(fault.JavaScriptError, validate.ReturnsPromise+why).WithHint("%s", hint))
	}
	missing := func(name string) {
		throw(", which has no `"+fault.Clip(name, 100)+"`", "Await it first: (await f(...))."+fault.Clip(name, 100)+".")
	}
	toPrimitive := pr.js.function("[Symbol.toPrimitive]", 1, func(goja.FunctionCall) goja.Value {
		throw(", which is neither a text nor a number", "Await it first.")
		return goja.Undefined()
	})
	proxy := pr.js.vm.NewProxy(pr.js.vm.CreateObject(native), &goja.ProxyTrapConfig{
		Get: func(target *goja.Object, name string, receiver goja.Value) goja.Value {
			switch name {
			case "then", "catch", "finally", "constructor": // await reads the constructor
				pr.use(receiver)
			case "toJSON":
				return goja.Undefined()
			}
			v := target.Get(name)
			if v == nil {
				if pr.assigns(name) { // the script keeps something of its own there
					return goja.Undefined()
				}
				missing(name)
			}
			return v
		},
		GetIdx: func(_ *goja.Object, i int, _ goja.Value) goja.Value {
			missing(fmt.Sprint(i))
			return nil
		},
		GetSym: func(target *goja.Object, symbol *goja.Symbol, _ goja.Value) goja.Value {
			if symbol == goja.SymToPrimitive {
				return toPrimitive
			}
			return target.GetSymbol(symbol)
		},
	})
	return pr.js.vm.ToValue(proxy).(*goja.Object)
}

// assigns reports whether the script assigns to a member of that name somewhere.
func (pr *promises) assigns(name string) bool {
	return regexp.MustCompile(`\.\s*` + regexp.QuoteMeta(name) + `\s*(?:[-+*/%&|^?]{0,3}=[^=]|\+\+|--)`).MatchString(pr.job.Code)
}

// use notes that something awaits a promise.
func (pr *promises) use(v goja.Value) {
	if o, ok := v.(*goja.Object); ok && len(pr.open) > 0 {
		pr.open = slices.DeleteFunc(pr.open, func(one openPromise) bool { return one.promise == o })
	}
}

// warnOfOpen names in the logs, once for each place, the promises that nothing has awaited.
func (pr *promises) warnOfOpen() {
	said := map[string]bool{}
	for _, one := range pr.open {
		at := pr.positions.locate(fault.New(fault.JavaScriptError, ""), one.stack)
		where := ""
		if at.Line > 0 {
			where = fmt.Sprintf(" in line %d", at.Line)
		}
		text := fmt.Sprintf("Nothing has awaited the promise of %s(...)%s, so the script went on without its result. Write await before the call, unless that is meant.", one.name, where)
		if !said[text] {
			said[text] = true
			pr.host.log("warn", text)
		}
	}
	pr.open = nil
}
