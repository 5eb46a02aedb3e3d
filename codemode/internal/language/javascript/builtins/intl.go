package builtins

import (
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// zone returns [offset in seconds, abbreviation, name] of a time zone at a time in
// Unix milliseconds, or throws a RangeError.
func (in *installer) zone(c goja.FunctionCall) goja.Value {
	name := c.Argument(0).String()
	at := time.UnixMilli(c.Argument(1).ToInteger())
	var abbreviation string
	var offset int
	switch upper := strings.ToUpper(name); {
	case upper == "UTC" || upper == "GMT" || upper == "ETC/UTC" || upper == "ETC/GMT":
		name, abbreviation = "UTC", "UTC"
	case fixedOffset(name, &offset):
	default:
		l, err := location(name)
		if err != nil {
			panic(in.rangeError("Invalid time zone specified: " + name))
		}
		abbreviation, offset = at.In(l).Zone()
	}
	return in.vm.NewArray(offset, abbreviation, name)
}

func location(name string) (*time.Location, error) {
	if name == "" || name == "Local" || strings.Contains(name, "..") {
		return nil, fmt.Errorf("no time zone is called %q", name)
	}
	return time.LoadLocation(name)
}

// fixedOffset parses an offset such as "+02:00", in seconds.
func fixedOffset(name string, offset *int) bool {
	t, err := time.Parse("-07:00", name)
	if err != nil {
		return false
	}
	_, *offset = t.Zone()
	return true
}

func (in *installer) rangeError(message string) goja.Value {
	o, err := in.vm.New(in.vm.Get("RangeError"), in.vm.ToValue(message))
	if err != nil {
		panic(err)
	}
	return o
}

// collator compares strings. It caches collators, since sorting compares often.
type collator struct {
	vm    *goja.Runtime
	built map[collation]*collate.Collator
}

type collation struct {
	sensitivity string
	numeric     bool
}

func newCollator(vm *goja.Runtime) *collator {
	return &collator{vm: vm, built: map[collation]*collate.Collator{}}
}

// compare implements compare(a, b, sensitivity, numeric, upperFirst).
func (k *collator) compare(c goja.FunctionCall) goja.Value {
	a, b := c.Argument(0).String(), c.Argument(1).String()
	as := collation{c.Argument(2).String(), c.Argument(3).ToBoolean()}
	with := k.built[as]
	if with == nil {
		with = collate.New(language.English, as.options()...)
		k.built[as] = with
	}
	order := with.CompareString(a, b)
	if order != 0 && c.Argument(4).ToBoolean() {
		loose := collation{"accent", as.numeric}
		if k.built[loose] == nil {
			k.built[loose] = collate.New(language.English, loose.options()...)
		}
		if k.built[loose].CompareString(a, b) == 0 {
			order = -order // they differ in case only
		}
	}
	return k.vm.ToValue(order)
}

func (c collation) options() []collate.Option {
	var out []collate.Option
	if c.numeric {
		out = append(out, collate.Numeric)
	}
	switch c.sensitivity {
	case "base":
		out = append(out, collate.IgnoreCase, collate.IgnoreDiacritics, collate.IgnoreWidth)
	case "accent":
		out = append(out, collate.IgnoreCase, collate.IgnoreWidth)
	case "case":
		out = append(out, collate.IgnoreDiacritics)
	}
	return out
}
