package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework/fault"
)

// What JSON would drop or turn into null in silence could make a filter match
// everything, or a change erase a value.
func TestLossyInputsAreRejected(t *testing.T) {
	cases := map[string]struct{ code, path, hint string }{
		"undefined condition":    {`T.deleteByQuery({listId: undefined})`, "/filter/listId", "Leave the member out"},
		"undefined in a read":    {`T.count({listId: undefined})`, "/filter/listId", ""},
		"undefined operator":     {`T.count({a: {$in: undefined}})`, "/filter/a/$in", ""},
		"undefined deep":         {`T.count({a: 1, $or: [{b: 1}, {"c/d": undefined}]})`, "/filter/$or/1/c~1d", ""},
		"undefined below with":   {`T.collection({with: {steps: {filter: {done: undefined}}}})`, "/with/steps/filter/done", ""},
		"function as filter":     {`T.all({filter: t => t.done})`, "/filter", "operators"},
		"function as condition":  {`T.count({a: () => 1})`, "/filter/a", ""},
		"symbol":                 {`T.count({a: Symbol("x")})`, "/filter/a", ""},
		"regular expression":     {`T.count({title: /milk/i})`, "/filter/title", "$icontains"},
		"Map":                    {`T.upsert({a: new Map([[1, 2]])})`, "/model/a", "Object.fromEntries"},
		"Set":                    {`T.deleteMany(new Set(["1"]))`, "/ids", "[...set]"},
		"promise":                {`T.count((async () => ({a: 1}))())`, "/filter", "Await"},
		"NaN":                    {`T.patch("1", {price: 0 / 0})`, "/changes/price", ""},
		"Infinity in a list":     {`T.upsertMany([{a: [1]}, {a: [1, Infinity]}])`, "/models/1/a/1", ""},
		"invalid Date":           {`T.deleteByQuery({at: new Date("soon")})`, "/filter/at", "RFC 3339"},
		"plugin":                 {`SDK.Vision.detect({size: {x: NaN}})`, "/size/x", ""},
		"class instance":         {`class F { listId = 1 } T.deleteByQuery(new F())`, "/filter", "{...x}"},
		"getter of a class":      {`class F { get listId() { return 1 } } T.deleteByQuery(new F())`, "/filter", "{...x}"},
		"subclass":               {`class A {} class F extends A {} T.count({$and: [{a: 1}, new F()]})`, "/filter/$and/1", "{...x}"},
		"Object.create":          {`T.deleteByQuery(Object.create({listId: 1}))`, "/filter", "prototype"},
		"prototype set":          {`const f = {}; f["__proto__"] = {listId: 1}; T.deleteByQuery(f)`, "/filter", "prototype"},
		"prototype in a literal": {`T.deleteByQuery({__proto__: {listId: 1}})`, "/filter", "prototype"},
		"not enumerable":         {`T.deleteByQuery(Object.defineProperty({}, "listId", {value: 1}))`, "/filter", "{...x}"},
		"named by a symbol":      {`T.deleteByQuery({[Symbol("listId")]: 1})`, "/filter", "strings"},
		"Proxy":                  {`T.deleteByQuery(new Proxy({listId: 1}, {ownKeys: () => []}))`, "/filter", "{...x}"},
		"Proxy of an array":      {`T.deleteMany(new Proxy(["1"], {}))`, "/ids", "{...x}"},
		"Error":                  {`T.upsert({note: new Error("gone")})`, "/model/note", "message"},
		"fault":                  {`try { T.getById("99") } catch (e) { T.upsert({note: e}) }`, "/model/note", "message"},
		"iterator":               {`T.count({id: {$in: [1, 2].values()}})`, "/filter/id/$in", "[...x]"},
		"generator":              {`T.deleteMany((function* () { yield "1" })())`, "/ids", "[...x]"},
		"lazy entities":          {`T.upsertMany(T.each())`, "/models", "[...x]"},
		"typed array":            {`T.upsert({bytes: new Uint8Array([1, 2])})`, "/model/bytes", "Array.from"},
		"ArrayBuffer":            {`T.upsert({bytes: new ArrayBuffer(2)})`, "/model/bytes", "Array.from"},
		"arguments":              {`(function () { T.deleteMany(arguments) })("1")`, "/ids", "{...x}"},
		"URLSearchParams":        {`T.deleteByQuery(new URLSearchParams("listId=1"))`, "/filter", "{...x}"},
		"boxed NaN":              {`T.patch("1", {price: Object(NaN)})`, "/changes/price", "computed"},
		"Date without toJSON":    {`delete Date.prototype.toJSON; T.deleteByQuery({at: new Date(0)})`, "/filter/at", "{...x}"},
		"toJSON that is nothing": {`T.deleteByQuery({listId: {toJSON() {}}})`, "/filter/listId", "Leave the member out"},
		"instance as options":    {`class O { filter = {listId: 1} } T.all(new O())`, "", "{...x}"},
		"inherited options":      {`T.collection(Object.create({filter: {listId: 1}}))`, "", "prototype"},
		"Error as options":       {`T.collection(new Error("x"))`, "", "message"},
		"Map as options":         {`T.collection(new Map([["filter", 1]]))`, "", "Object.fromEntries"},
		"instance to a plugin":   {`class P { size = 1 } SDK.Vision.detect(new P())`, "", "{...x}"},
		"cycle":                  {`const a = {}; a.self = a; T.upsert({name: "x", steps: a})`, "/model/steps/self", "by its id"},
		"cycle of the model":     {`const m = {steps: [{}]}; m.steps[0].todo = m; T.upsert(m)`, "/model/steps/0/todo", "by its id"},
		"cycle to a plugin":      {`const a = []; a.push({a}); SDK.Vision.detect({a})`, "/a/0/a", "by its id"},
		"behind an empty name":   {`T.upsert({"": {"": NaN}})`, "/model//", ""},
		"behind an empty object": {`T.upsert({a: {}, b: [[]], c: NaN})`, "/model/c", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			r := execute(t, NewInProcess(languages.All), job("const T = SDK.Entities.Todo;\n"+c.code), h)
			require.NotNil(t, r.Fault)
			require.Equal(t, fault.InvalidPayload, r.Fault.Code)
			require.Equal(t, c.path, r.Fault.Path, r.Fault.Message)
			require.Contains(t, r.Fault.Hint, c.hint)
			require.Equal(t, 2, r.Fault.Line)
			require.NotContains(t, h.inputs, `{"filter":{}}`)
			for _, id := range h.calls {
				require.Contains(t, []string{"koan::Todo.get-by-id", "koan::Todo.collection"}, id, "what was refused was not called")
			}
		})
	}
}

func TestLosslessInputsPass(t *testing.T) {
	cases := map[string]struct{ code, input string }{
		"undefined in a model":    {`T.upsert({a: 1, b: undefined, filter: {c: undefined}})`, `{"model":{"a":1,"filter":{}}}`},
		"undefined option":        {`T.collection({filter: undefined})`, `{}`},
		"undefined to a plugin":   {`SDK.Vision.detect({filter: {a: undefined}})`, `{"filter":{}}`},
		"null":                    {`T.count({a: null, b: [null]})`, `{"filter":{"a":null,"b":[null]}}`},
		"the same object twice":   {`const o = {a: 1}; T.upsert({x: o, y: [o, o]})`, `{"model":{"x":{"a":1},"y":[{"a":1},{"a":1}]}}`},
		"toJSON":                  {`const m = new Map(); m.toJSON = () => 7; T.upsert({m})`, `{"model":{"m":7}}`},
		"toJSON of a class":       {`class M { #a = 7; toJSON() { return {a: this.#a} } } T.upsert({m: new M()})`, `{"model":{"m":{"a":7}}}`},
		"inherited toJSON":        {`T.upsert({m: new URL("https://a.de/")})`, `{"model":{"m":"https://a.de/"}}`},
		"no prototype":            {`T.count(Object.assign(Object.create(null), {a: 1}))`, `{"filter":{"a":1}}`},
		"spread instance":         {`class F { listId = 1 } T.count({...new F()})`, `{"filter":{"listId":1}}`},
		"own getter":              {`T.count({get a() { return 2 }})`, `{"filter":{"a":2}}`},
		"grouped":                 {`T.upsert({g: Object.groupBy([1, 2], (n) => n % 2 ? "odd" : "even")})`, `{"model":{"g":{"odd":[1],"even":[2]}}}`},
		"match":                   {`T.upsert({m: "a1".match(/[a-z]/), g: "a1".match(/(?<l>[a-z])/).groups})`, `{"model":{"m":["a"],"g":{"l":"a"}}}`},
		"what a call returned":    {`T.upsert(T.getById("1")); T.upsert(structuredClone(SDK.args))`, `{"model":{}}`},
		"__proto__ in JSON":       {`T.count(JSON.parse('{"__proto__":{"a":1}}'))`, `{"filter":{"__proto__":{"a":1}}}`},
		"__proto__ as a constant": {`T.count({["__proto__"]: {a: 1}})`, `{"filter":{"__proto__":{"a":1}}}`},
		"__proto__ computed":      {`const k = "__proto__"; T.count({a: 1, [k]: {a: 1}, b: 2})`, `{"filter":{"a":1,"__proto__":{"a":1},"b":2}}`},
		"__proto__ in TypeScript": {`const k: string = "__proto__"; T.count({[k]: 1} as any)`, `{"filter":{"__proto__":1}}`},
		"__proto__ compiled":      {`namespace N { export const k = "__proto__" } T.count({[N.k]: 1})`, `{"filter":{"__proto__":1}}`},
		"__proto__ of entries":    {`T.count(Object.fromEntries([["__proto__", 1]]))`, `{"filter":{"__proto__":1}}`},
		"__proto__ spread":        {`T.count({...JSON.parse('{"__proto__":1}')})`, `{"filter":{"__proto__":1}}`},
		"__proto__ shorthand":     {`const __proto__ = 1; T.count({__proto__})`, `{"filter":{"__proto__":1}}`},
		"__proto__ is null":       {`T.count({__proto__: null, a: 1})`, `{"filter":{"a":1}}`},
		"boxed":                   {`T.upsert({a: Object("s"), b: Object(1)})`, `{"model":{"a":"s","b":1}}`},
		"a getter that calls":     {`T.count({a: "` + strings.Repeat("w", 4000) + `"}); T.patch("1", {get a() { T.count({long: "zzzzzzzzzzzzzzzzzz"}); return "x" }})`, `{"id":"1","changes":{"a":"x"}}`},
		"a toJSON that calls":     {`T.patch("1", {a: {toJSON() { T.count({z: 1}); return {b: 2} }}, c: 3})`, `{"id":"1","changes":{"a":{"b":2},"c":3}}`},
		"a fault inside a getter": {`try { T.count({get a() { T.count({b: NaN}) }}) } catch (e) { T.upsert({path: e.path}) }`, `{"model":{"path":"/filter/b"}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			r := execute(t, NewInProcess(languages.All), job("const T = SDK.Entities.Todo;\n"+c.code), h)
			require.Nil(t, r.Fault, fmt.Sprint(r.Fault))
			require.Equal(t, c.input, h.inputs[len(h.inputs)-1])
		})
	}
}

// A result is what JSON.stringify makes of it. Where that is {} for something that
// holds more, the logs say so.
func TestEmptiedResultsAreLogged(t *testing.T) {
	cases := map[string]struct{ code, result, warns string }{
		"Map":            {`new Map([[1, 2]])`, `{}`, "the result is a Map, whose JSON is {}. Give Object.fromEntries(map)."},
		"Set below":      {`({a: {seen: new Set([1])}})`, `{"a":{"seen":{}}}`, "`seen` in the result is a Set"},
		"Error":          {`({e: new TypeError("x")})`, `{"e":{}}`, "error.message"},
		"iterator":       {`[[1].values()]`, `[{}]`, "`0` in the result is an iterator"},
		"promise":        {`({p: Promise.resolve(1)})`, `{"p":{}}`, "Await it first"},
		"answer":         {`SDK.Out.answer({m: new Map()}); 1`, `1`, "`m` in the answer is a Map"},
		"ArrayBuffer":    {`({b: new ArrayBuffer(2)})`, `{"b":{}}`, "`b` in the result is an ArrayBuffer"},
		"WeakMap":        {`({w: new WeakMap()})`, `{"w":{}}`, "`w` in the result is a WeakMap"},
		"generator":      {`async function* g() { yield 1 } ({g: g()})`, `{"g":{}}`, "for await"},
		"class instance": {`class A { a = 1; get b() { return 2 } } new A()`, `{"a":1}`, ""},
		"plain":          {`({a: {}, b: [], c: Object.create(null)})`, `{"a":{},"b":[],"c":{}}`, ""},
		"toJSON":         {`const m = new Map(); m.toJSON = () => [1]; m`, `[1]`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := execute(t, NewInProcess(languages.All), job(c.code), newHost())
			require.Nil(t, r.Fault, fmt.Sprint(r.Fault))
			require.JSONEq(t, c.result, string(r.Result))
			if c.warns == "" {
				require.Empty(t, r.Logs)
				return
			}
			require.Len(t, r.Logs, 1)
			require.Equal(t, "warn", r.Logs[0].Level)
			require.Contains(t, r.Logs[0].Message, c.warns)
		})
	}
}

func TestResultThatIsNotJSONSaysWhere(t *testing.T) {
	for code, where := range map[string]string{
		`const b = [1]; b.push({b}); ({a: {b}})`:                     "the result is not JSON, at /a/b/1/b: ",
		`const a = {x: 1, list: [{}]}; a.list[0].all = a; a`:         "the result is not JSON, at /list/0/all: ",
		`const d = {}; d.d = d; SDK.Out.answer({"a/b": {c: {}, d}})`: "the answer is not JSON, at /a~1b/d/d: ",
	} {
		r := execute(t, NewInProcess(languages.All), job(code), newHost())
		require.NotNil(t, r.Fault, code)
		require.Contains(t, r.Fault.Message, where, code)
	}
}
