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
func (s *session) watched(p *goja.Promise, name string, stack []goja.StackFrame) *goja.Object {
	o := s.vm.ToValue(p).(*goja.Object)
	if s.promises.proto == nil {
		s.promises.proto = s.promiseProto(o.Prototype())
	}
	if err := o.SetPrototype(s.promises.proto); err != nil {
		panic(err)
	}
	if len(s.promises.open) < maxSites {
		s.promises.open = append(s.promises.open, openPromise{o, name, stack})
	}
	return o
}

// promiseProto returns the prototype of watched promises: as native, but it throws for members that no
// promise has, and where one is turned into a text or a number.
func (s *session) promiseProto(native *goja.Object) *goja.Object {
	throw := func(why, hint string) {
		s.throw(fault.New(fault.JavaScriptError, validate.ReturnsPromise+why).WithHint("%s", hint))
	}
	missing := func(name string) {
		throw(", which has no `"+fault.Clip(name, 100)+"`", "Await it first: (await f(...))."+fault.Clip(name, 100)+".")
	}
	toPrimitive := s.function("[Symbol.toPrimitive]", 1, func(goja.FunctionCall) goja.Value {
		throw(", which is neither a text nor a number", "Await it first.")
		return goja.Undefined()
	})
	proxy := s.vm.NewProxy(s.vm.CreateObject(native), &goja.ProxyTrapConfig{
		Get: func(target *goja.Object, name string, receiver goja.Value) goja.Value {
			switch name {
			case "then", "catch", "finally", "constructor": // await reads the constructor
				s.promises.use(receiver)
			case "toJSON":
				return goja.Undefined()
			}
			v := target.Get(name)
			if v == nil {
				if s.assigns(name) { // the script keeps something of its own there
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
	return s.vm.ToValue(proxy).(*goja.Object)
}

// assigns reports whether the script assigns to a member of that name somewhere.
func (s *session) assigns(name string) bool {
	return regexp.MustCompile(`\.\s*` + regexp.QuoteMeta(name) + `\s*(?:[-+*/%&|^?]{0,3}=[^=]|\+\+|--)`).MatchString(s.job.Code)
}

// use notes that something awaits a promise.
func (p *promises) use(v goja.Value) {
	if o, ok := v.(*goja.Object); ok && len(p.open) > 0 {
		p.open = slices.DeleteFunc(p.open, func(one openPromise) bool { return one.promise == o })
	}
}

// warnOfOpen names in the logs, once for each place, the promises that nothing has awaited.
func (s *session) warnOfOpen() {
	said := map[string]bool{}
	for _, one := range s.promises.open {
		at := s.locate(fault.New(fault.JavaScriptError, ""), one.stack)
		where := ""
		if at.Line > 0 {
			where = fmt.Sprintf(" in line %d", at.Line)
		}
		text := fmt.Sprintf("Nothing has awaited the promise of %s(...)%s, so the script went on without its result. Write await before the call, unless that is meant.", one.name, where)
		if !said[text] {
			said[text] = true
			s.log("warn", text)
		}
	}
	s.promises.open = nil
}
