package sandbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework/fault"
)

// FuzzInputs passes generated values from a script to the host. The host must receive the
// whole value, or the call is rejected with the path of the first value that has no JSON.
func FuzzInputs(f *testing.F) {
	for seed := range 60 {
		b := make([]byte, 80)
		for i := range b {
			b[i] = byte((i*i*31 + i*7 + seed*97) >> (seed % 4))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		v := values{left: choices}
		source, plain := v.value("/model/v", 4)
		h := newHost()
		r := execute(t, NewInProcess(languages.All), job("SDK.Entities.Todo.upsert({v: "+source+"})"), h)
		if v.refused != "" {
			require.NotNil(t, r.Fault, "%s\n%v", source, h.inputs)
			require.Equal(t, fault.InvalidPayload, r.Fault.Code, "%s\n%v", source, r.Fault)
			require.Equal(t, v.refused, r.Fault.Path, source)
			require.Empty(t, h.calls)
			return
		}
		require.Nil(t, r.Fault, "%s\n%v", source, r.Fault)
		require.Equal(t, []string{`{"model":{"v":` + plain + `}}`}, h.inputs, source)
	})
}

// values generates an expression together with the JSON of its value.
type values struct {
	left    []byte
	refused string // path of the first value that has no JSON
	names   int
}

func (v *values) pick(n int) int {
	if len(v.left) == 0 {
		return 0
	}
	c := int(v.left[0]) % n
	v.left = v.left[1:]
	return c
}

// scalars are expressions with their JSON.
var scalars = [][2]string{
	{`null`, `null`},
	{`true`, `true`},
	{`0`, `0`},
	{`-1.5`, `-1.5`},
	{`1e21`, `1e+21`},
	{`"\u00e9\"b"`, `"é\"b"`},
	{`"\ud83d\ude00"`, `"😀"`},
	{`new Date(0)`, `"1970-01-01T00:00:00.000Z"`},
	{`Object("s")`, `"s"`},
	{`Object(2)`, `2`},
	{`Object(false)`, `false`},
	{`new (class { toJSON() { return [1] } })()`, `[1]`},
	{`"a1".match(/./g)`, `["a","1"]`},
	{`Array.of()`, `[]`},
	{`Object.create(null)`, `{}`},
}

// losses are expressions whose values JSON.stringify would silently change.
var losses = []string{
	`NaN`, `-Infinity`, `1n`, `Symbol("s")`, `Math.max`, `/x/`, `new Map([[1, 2]])`, `new Set([1])`, `Promise.resolve(1)`, `new Error("e")`, `new Date(NaN)`,
	`new (class F { a = 1 })()`, `new (class F { get a() { return 1 } })()`, `Object.create({a: 1})`, `Object.defineProperty({}, "a", {value: 1})`, `[1].values()`,
	`new Proxy({}, {})`, `new Uint8Array(2)`, `{[Symbol.iterator]: 1}`, `(function* () {})()`, `Object.setPrototypeOf({a: 1}, Array.prototype)`, `new WeakMap()`, `Object(NaN)`,
}

func (v *values) value(path string, depth int) (source, plain string) {
	kind := v.pick(8)
	switch {
	case kind == 0 || depth == 0:
		s := scalars[v.pick(len(scalars))]
		return s[0], s[1]
	case kind == 1 && v.pick(2) == 0:
		if v.refused == "" {
			v.refused = path
		}
		return losses[v.pick(len(losses))], "null"
	case kind < 4:
		return v.list(path, depth)
	}
	return v.object(path, depth)
}

func (v *values) list(path string, depth int) (source, plain string) {
	var sources, plains []string
	for i := range v.pick(4) {
		s, p := v.value(path+"/"+strconv.Itoa(i), depth-1)
		sources, plains = append(sources, s), append(plains, p)
	}
	source = "[" + strings.Join(sources, ", ") + "]"
	if v.pick(4) == 0 {
		source = "Array.from(" + source + ")"
	}
	return source, "[" + strings.Join(plains, ",") + "]"
}

// object generates an object in one of several ways that keep every key.
func (v *values) object(path string, depth int) (source, plain string) {
	keys := []string{"a", "__proto__", "constructor", "b c", "toString", "", "~/"}
	way := v.pick(5)
	var sources, plains []string
	for range v.pick(4) {
		at := v.pick(len(keys))
		key := keys[at]
		keys = append(append([]string{}, keys[:at]...), keys[at+1:]...)
		s, p := v.value(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), depth-1)
		text, _ := json.Marshal(key)
		sources, plains = append(sources, v.member(way, string(text), s)), append(plains, string(text)+":"+p)
	}
	plain = "{" + strings.Join(plains, ",") + "}"
	switch inside := strings.Join(sources, ", "); way {
	case 1:
		source = "Object.fromEntries([" + inside + "])"
	case 2:
		source = "{...{" + inside + "}}"
	case 3:
		source = "Object.defineProperties(Object.create(null), {" + inside + "})"
	default:
		source = "{" + inside + "}"
	}
	return source, plain
}

func (v *values) member(way int, key, value string) string {
	v.names++
	switch way {
	case 1:
		return "[" + key + ", " + value + "]"
	case 3:
		return "[" + key + "]: {value: " + value + ", enumerable: true}"
	case 4:
		return fmt.Sprintf("get [(%s)]() { return %s }", key, value)
	}
	return "[(" + key + ").slice()]: " + value
}
