package strip

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"
)

var both = Options{Types: true, Modules: true}

func TestStrip(t *testing.T) {
	for name, c := range map[string]struct{ in, out string }{
		"annotation":         {"const a: number = 1", "const a         = 1"},
		"lines stay":         {"let a: {\n  b: 1\n} = c", "let a   \n      \n  = c"},
		"interface":          {"interface A {\n b: string }\nf()", "             \n            \nf()"},
		"behind a statement": {"a = b\ntype C = 1\n(d)", "a = b\n;         \n(d)"},
		"before a directive": {"type A = 1\n'use strict'", "          \n'use strict'"},
		"as":                 {"f(a as B<C>, d!.e)", "f(a        , d .e)"},
		"overload":           {"function f(a: 1): 2\nfunction f(a: any) {}", "                   \nfunction f(a     ) {}"},
		"result of an arrow": {"(a): {\n} => a", "(a)=>\n a"},
		"returned":           {"function f() { return <T,\n>(a: T) => a }", "function f() { return (\na   ) => a }"},
		"behind a switch":    {"switch (a) { case 1: b\n type C = 1\n (d) }", "switch (a) { case 1: b\n ;         \n (d) }"},
		"behind a class":     {"a = class { b(): 1; b() {} }\ntype C = 1\n(d)", "a = class { ;       b() {} }\n;         \n(d)"},
		"behind a function":  {"a = () => { type C = 1 }\ntype D = 1\n(d)", "a = () => {            }\n;         \n(d)"},
		"alone in a loop":    {"for (;;) type A = 1\nb()", "for (;;) ;         \nb()"},
		"modifier":           {"class A { a = 1\n private [b] = 2 }", "class A { a = 1\n ;       [b] = 2 }"},
		"wide characters":    {"let ä: 'ö' = 'ü'", "let ä       = 'ü'"},
		"wide line end":      {"let a: [1,\u2028 2] = x", "let a     \u2028    = x"},
	} {
		t.Run(name, func(t *testing.T) {
			s, ok := Strip(c.in, both)
			require.True(t, ok)
			require.Equal(t, c.out, s.Text)
		})
	}
}

// written are texts as people and models write them, each with what the next has not.
var written = []string{
	"const x: Array<Map<string, number[]>> = [], y: A.B<C>[] = [], z: string | undefined = void 0;",
	"type A = { [K in keyof T as `get${K}`]?: T[K] } & { -readonly [K in 'a' | 'b']-?: X };\ntype B<T> = T extends Array<infer U> ? U : never\nf()",
	"type F = (a: number, ...rest: string[]) => void; type G = new <T>(x: T) => T; type H = abstract new () => object; type I = asserts extends 1 ? 2 : 3",
	"type T1 = [a: string, b?: number, ...rest: boolean[]]; type T2 = typeof import('x').y; type T3 = unique symbol; type T4 = -1 | 2n | `a${string}b` | true | null",
	"type X = | 'a'\n  | 'b'\n;[1].map(f)",
	"interface A<T = {}> extends B<T>, C.D { (x: number): string; new (x: number): A; readonly [key: string]: any; m?<U>(this: A, a: U): a is string; get v(): 1; set v(x); 'q-q': 1, 2: 3 }",
	"declare const SDK: any; declare function f(a: number): void\ndeclare let a: 1, b: 2; declare type Q = 1; declare interface R { a: 1 }\ng()",
	"abstract class A<T> extends B<T> implements C, D<E> { abstract m(): void; protected abstract readonly x: number; static readonly y: T[] = []; private z?: string; w!: number; declare v: 1; [k: string]: any; constructor(a?: T) { super(a!) } override async *g<U>(this: A<U>, x: U): AsyncGenerator<U> {} get q(): number { return 1 } set q(v: number) {} static { f() } #p: string = ''; has(o: any): o is A<T> { return #p in o } }",
	"class A { m(a: string): void; m(a: number): void; m(a: any) {} 'x'(): 1 { return 1 } [k](): 2 { return 2 } static async s() {} async = 1; get = 2; static = 3; readonly = 4; declare() {} abstract() {} }",
	"class A extends mixin(B)<C> {} class D extends E.F<G> {} const H = class<T> implements I {}; const J = class K {}",
	"function f<T extends object = {}>(this: Window, a: T, b?: number, { c, d = 1 }: { c: 1; d?: 2 } = {} as any, [e]: [1] = [1], ...r: any[]): asserts a is T { return }",
	"const a = async <T,>(x: T): Promise<T> => x, b = (x): x is string => typeof x === 'string', c = async x => x, d = (): void => {}, e = <T>(x: T) => ({ x })",
	"const f = ({ a, b: { c } }: P, [d, , e = 1]: Q): R => a + b, g = (a = (b: number) => b) => a, h = (x: any): asserts x => { }",
	"for (const a of b as C[]) f(a!); for (let i: number = 0, n: number = 1; i < n; i++) {} for (const k in o as any) {} for (x of y) {} for (x.y in z) {}",
	"const v = a < b && c > d, w = a < b, q = f<T>(x), r = new Map<string, Array<number>>(), s = tag<T>`a${b as C}`, u = a?.<T>(b), y = (a < b) > c",
	"const v = a ? (b as C) : d, w = a ? x => y : z, q = a ? (b, c) : d, r = a ? (b) : c, s = a ? { b: (c) } : d, u = a ? [(b)] : (c: D) => e",
	"const o = { a, b: c as D, async m<T>(x: T): Promise<void> {}, get g(): number { return 1 }, set g(v: number) {}, *gen() { yield; yield* a; yield b as C }, async *ag() {}, [k as string]: 1, 'x': 2, 3: 4, ...rest as any, get: 1, async: 2, type: 3, get() {}, set() {}, async() {} }",
	"try { f() } catch (e: unknown) { g(e as Error) } finally { }\nlabel: for (;;) { break label }\nswitch (a as B) { case 1 as C: f(); default: g() }\nif (a) b; else c\ndo a(); while (b as C)\nwhile (a) b()",
	"const r = a / b / c, s = /[/]\\/(?<x>y)/giu.test(x) ? /a/ : b, u = `a${`b${c as D}`}`, n = [1.5, .5, 1e-5, 0xff, 1_000n, 5..toString()]",
	"let type = 1, of = 2, as = 3, is = 4, declare = 5, namespace = 6, module = 7, abstract = 8, readonly = 9\ntype = 2; type; declare; module.x; namespace\nabstract = 1; as = is",
	"x = y as const; x = <const T,>(a: 1) => a; a = b satisfies C as D; a = b! + c!.d![e!]!(f)!; a! = 1; (a as any) = 1; (a as any).b ??= c; a!++",
	"async function f() { await g<T>(x); for (const a of await b) c; return await d as E }\nfunction* h(): Generator<1> { const a: 1 = yield 1; yield\n yield }",
	"export const a: number = 1; export function f(x: 1): 2; export function f(x: any) {}; export default async function main(a?: string): Promise<void> {}",
	"export type A = 1; export interface B {} export abstract class C {} export let d: 1, e = 2 as F; export class G {}",
	"import type A from 'a'; import type { B } from 'b'; import type * as C from 'c'; import { type D, e, type F as G, default as h } from 'd'; import i, { j } from 'e'; import 'f'; import type from 'g'; import * as k from 'h'",
	"const a = 1 as A\nconst b = a as B // c\n/* d */ f()\nlet c: D\nlet e = f as G\nif (c) d()\nthrow a as Error",
	"a = b as C ? d : e; a = b as C || d; a = b as C === d; a = b < c as D; a = (b as C) * 2; f(...a as B[]); return_(a as B, c satisfies D)",
	"new A; new A.B(); new (f())(); new A()!.b; new new A()(); class X { m() { new.target; this!.a; super.b } }",
	"const { a, b }: { a: 1, b: 2 } = c, [d]: [1] = e; var x: 1, y!: 2; let z: typeof a.b[] = []; let w: keyof typeof a = 'b', v: A['b']['c'], u: this | void | null",
	"let a: (b: string) => c is string, d: ((x: number) => void)[], e: (A | B)[], f: () => () => void, g: new () => A, h: (this: A) => void, i: ({ a }: B, [c]: D) => E, j: (A)",
	"const a = { b<T>(): T { return 1 as T } }, c = function <T>(d: T) { }, e = async function f(g: 1) { }",
	"enum_: { break enum_ } let enums = 1; const x = async function* () { }; async () => { for (const a of b) await c }",
	"items.filter((i): i is Item => !!i).map<Result>(({ id, name }) => ({ id, name })).reduce<Record<string, number>>((acc, r) => { acc[r.id] = (acc[r.id] ?? 0) + 1; return acc }, {})",
	"let s = 'a\\\nb', t = \"\\\"\", u = `\\`${1}\\${`; u = s.at(-1)!; `${a}${b as C}` as D;",
	"if (a < 5 || b > 3) { } while (i < xs.length && xs[i] > 0) i++; const m = a < b ? c : d; f(a < b, c); for (let i = 0; i < n; i++) { if (i > 2) break }",
	"const a = b as C<D<E>>, f = g as H<I<J<K>>>; let l: M<N<O>>= p; let q: R<S> = t >> u >>> v",
	"var \u00e4\u00f6: \u00dc = '\\u{1F600}'; class \u0394 { \u03b1: \u0392 = 1 }",
	"", "\ufeff;", "// only this", "'use strict'; let a: 1",
}

func TestStrippedMeansTheSame(t *testing.T) {
	for _, src := range written {
		s, ok := Strip(src, Options{Types: true})
		require.True(t, ok, "it is taken: %s", src)
		same(t, src, s.Text)
		whole, ok := Strip(src, both)
		require.True(t, ok)
		require.Equal(t, strings.Count(src, "\n"), strings.Count(whole.Text, "\n"))
	}
}

// same requires that the compiler makes the same of a text and of what is left of it,
// and that no types are left.
func same(t *testing.T, src, stripped string) {
	t.Helper()
	means(t, src, stripped)
	_, ok := printed(stripped, api.LoaderJS)
	require.True(t, ok, "it is JavaScript: %s", stripped)
}

// means is same of what may be no program: what the engine refuses then, as a name that
// is imported twice, the compiler has after all.
func means(t *testing.T, src, stripped string) {
	t.Helper()
	want, ok := printed(src, api.LoaderTS)
	require.True(t, ok, "the compiler takes it: %s", src)
	got, ok := printed(stripped, api.LoaderTS)
	require.True(t, ok, "%s\n%s", src, stripped)
	require.Equal(t, want, got, src)
}

// printed is how the compiler writes a text, so that two of the same meaning are the
// same.
func printed(code string, loader api.Loader) (string, bool) {
	res := api.Transform(code, api.TransformOptions{
		Loader: loader, Target: api.ESNext, LogLevel: api.LogLevelSilent, MinifyWhitespace: true, MinifySyntax: true,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
	})
	return string(res.Code), len(res.Errors) == 0
}

// TestRefused has what means something else without its types, or something that is
// more than leaving out.
func TestRefused(t *testing.T) {
	for name, src := range map[string]string{
		"namespace":                  "namespace A { export const b = 1 }",
		"module":                     "declare module 'a' {}",
		"global":                     "declare global { interface A {} }",
		"declared class":             "declare class A {}",
		"decorator":                  "@a class B {}",
		"decorated member":           "class A { @b c() {} }",
		"parameter property":         "class A { constructor(private b: C) {} }",
		"old assertion":              "const a = <B>c",
		"computed enum":              "enum A { B = 'c'.length }",
		"enum of a member":           "enum A { B = 1, C = B }",
		"enum behind a text":         "enum A { B = 'b', C }",
		"enum in two parts":          "enum A { B } enum A { C = 1 }",
		"enum used before":           "f(A.B); enum A { B }",
		"import = ":                  "import a = require('b')",
		"export = ":                  "export = a",
		"reexport":                   "export { a } from 'b'",
		"reexport of all":            "export * from 'b'",
		"attributes":                 "import a from 'b' with { type: 'json' }",
		"dynamic import":             "const a: B = await import('c')",
		"import.meta":                "f(import.meta)",
		"nested import":              "{ import a from 'b' }",
		"this of a module":           "const a: B = this",
		"arguments of a module":      "const a: B = arguments",
		"conditional or arrow":       "a ? (b): c => d : e",
		"arrow in a case":            "switch (a) { case (b): c => d }",
		"type before a bracket":      "a = b as C\n[d]",
		"type before a call":         "a = b as C\n(d)",
		"type before a template":     "a = b as C\n`d`",
		"type before an operator":    "a = b + c as D * e",
		"arguments without a call":   "a = b<C>;",
		"field before a member":      "class A { get: B\n c() {} }",
		"field that ends in a line":  "class A { a\n b }",
		"field that is a modifier":   "class A { declare\n ['b']() {} }",
		"type that is an operator":   "a<readonly>(b)",
		"variable called let":        "if (a) let\nb: C",
		"abstract private":           "abstract class A { abstract #b; has(c) { return #b in c } }",
		"accessor":                   "class A { accessor a = 1 }",
		"using":                      "using a: B = c",
		"for await":                  "for await (const a of b as C) {}",
		"infer with a bound":         "type A = B extends [infer C extends string] ? C : 1",
		"escapes in a name":          "let \\u0061: B",
		"comment of old browsers":    "a <!-- b",
		"hash bang":                  "#!/usr/bin/env node\nlet a: B",
		"with":                       "with (a) b as C",
		"unclosed":                   "function f() { let a: B",
		"closes what it did not":     "let a: B }",
		"unclosed comment":           "let a: B /*",
		"unclosed string":            "let a: 'b",
		"unclosed template":          "let a = `b${c as D}",
		"the name for the default":   "let script_default: A",
		"two defaults":               "export default 1; export default 2 as A",
		"assertion before a bracket": "(a as B)\n(c as D)\n;a as E\n[f]",
		"too deep":                   "let a: B = " + strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		t.Run(name, func(t *testing.T) {
			_, ok := Strip(src, both)
			require.False(t, ok)
		})
	}
}

func TestTypesAreRefusedInJavaScript(t *testing.T) {
	for _, src := range []string{"let a: B", "a as B", "interface A {}", "type A = 1", "enum A { B }", "a!", "f<T>(a)", "class A { private b }", "(a?: B) => c", "import type a from 'b'"} {
		_, ok := Strip(src, Options{Modules: true})
		require.False(t, ok, src)
	}
	s, ok := Strip("import { a } from 'b'; export const c = a < d, e = (a ? b : c); export default (x) => x", Options{Modules: true})
	require.True(t, ok)
	require.Equal(t, ";                             const c = a < d, e = (a ? b : c); const script_default = (x) => x", s.Text)
}

func TestModules(t *testing.T) {
	s, ok := Strip("import a, { b, c as d, default as e, type F } from 'x';\nimport * as g from \"y\"\nimport 'z'\nexport { g, h as i }\nconst h = 1\nexport default h as number", both)
	require.True(t, ok)
	require.Equal(t, []Import{
		{Path: "x", Default: "a", Names: []Name{{"b", "b"}, {"c", "d"}, {"default", "e"}}},
		{Path: "y", Whole: "g"},
		{Path: "z"},
	}, s.Imports)
	require.Equal(t, []string{"g", "h"}, s.Exports)
	require.Equal(t, Default, s.Default)
	require.Equal(t, "const h = 1\nconst script_default = h          ", s.Text[strings.Index(s.Text, "const h"):])
	for src, want := range map[string][2]string{
		"export default function f() {}":      {"f", "               function f() {}"},
		"export default async function () {}": {Default, "const script_default = async function () {};"},
		"export default class extends A {}":   {Default, "const script_default = class extends A {};"},
		"export default class A<T> {}":        {"A", "               class A    {}"},
		"let a; export { a as default }":      {"a", "let a; ;                      "},
	} {
		s, ok := Strip(src, both)
		require.True(t, ok, src)
		require.Equal(t, want, [2]string{s.Default, s.Text})
	}
	s, ok = Strip("if (a as B) return 1", both)
	require.True(t, ok)
	require.True(t, s.Returns)
}

// TestEnums runs what the compiler and what this package makes of enums.
func TestEnums(t *testing.T) {
	for _, src := range []string{
		"enum A { B, C = 5, D, E = -2, F, 'g-h' = 7, I = 'i', J = \"j\" }\nJSON.stringify([A, A.B, A[5], A.I, A['g-h']])",
		"enum A { B }\nenum A2 { B = 3 }\nJSON.stringify([A, A2])",
		"const enum A { B = 'b', C = 'c', }\nJSON.stringify([A.B, A.C])",
		"const f = () => {\n enum A {\n B, // first\n C }\n return A }\nJSON.stringify(f())",
		"let r; { enum A { __proto__ = 1, B = 0 } r = A }\nJSON.stringify(r)",
	} {
		s, ok := Strip(src, both)
		require.True(t, ok, src)
		require.Equal(t, strings.Count(src, "\n"), strings.Count(s.Text, "\n"))
		want := api.Transform(src, api.TransformOptions{Loader: api.LoaderTS, Target: api.ESNext})
		require.Empty(t, want.Errors)
		theirs, err := goja.New().RunString(string(want.Code))
		require.NoError(t, err)
		ours, err := goja.New().RunString(s.Text)
		require.NoError(t, err, s.Text)
		require.Equal(t, theirs.Export(), ours.Export(), src)
	}
}

func TestOrigin(t *testing.T) {
	src := "const a: A = 1; enum B { C = 'c' } here(); export default there() as D; export default_"
	src = strings.TrimSuffix(src, " export default_")
	s, ok := Strip(src, both)
	require.True(t, ok)
	for _, word := range []string{"const a", "= 1", "here()", "there()"} {
		at, ok := s.Origin(strings.Index(s.Text, word))
		require.True(t, ok)
		require.Equal(t, strings.Index(src, word), at, word)
	}
	for _, word := range []string{"var B", "return B", "const script_default"} {
		_, ok := s.Origin(strings.Index(s.Text, word))
		require.False(t, ok, word)
	}
}

// TestHostile has what takes long where each try tries everything in it again.
func TestHostile(t *testing.T) {
	for _, src := range []string{
		strings.Repeat("(a=", 120) + "1" + strings.Repeat(")", 120),
		strings.Repeat("(a=", 120) + "1" + strings.Repeat(")=>b", 120),
		"a" + strings.Repeat("<b", 20000),
		strings.Repeat("async(", 200),
		strings.Repeat("a?(b):", 30000) + "c",
		strings.Repeat("a?(b=", 100) + strings.Repeat("):c", 100),
		"type A = " + strings.Repeat("(a:", 100) + "B" + strings.Repeat(")=>C", 100),
		"type A = " + strings.Repeat("(", 200) + "B" + strings.Repeat(")", 200),
		strings.Repeat("`${", 100) + strings.Repeat("}`", 100),
		strings.Repeat("f<(", 120) + strings.Repeat(")>(x)", 120),
		strings.Repeat("{", 100_000), strings.Repeat("a:", 100_000), strings.Repeat("!", 100_000), strings.Repeat("x=", 100_000),
		strings.Repeat("import{a}from'b';", 5000), strings.Repeat("a as b;", 20_000),
	} {
		_, _ = Strip(src, both)
	}
}

func FuzzStrip(f *testing.F) {
	for _, src := range written {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 3000 {
			return
		}
		s, ok := Strip(src, both)
		if !ok {
			return
		}
		for at := range len(s.Text) {
			if from, ok := s.Origin(at); ok {
				require.True(t, from >= 0 && from <= len(src))
			}
		}
		if strings.Contains(src, "enum") {
			return // it is written in another way
		}
		pure, ok := Strip(src, Options{Types: true})
		require.True(t, ok)
		if _, takes := printed(src, api.LoaderTS); takes {
			means(t, src, pure.Text)
		}
	})
}
