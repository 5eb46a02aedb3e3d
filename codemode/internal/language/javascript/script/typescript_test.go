package script

import (
	"strings"
	"testing"

	"github.com/dop251/goja/ast"
	"github.com/stretchr/testify/require"
)

// anyModules has every module, with the names that the scripts below import.
type anyModules struct{}

func (anyModules) Paths() []string { return nil }

func (anyModules) Exports(string) ([]string, bool) { return strings.Fields("D e F j B"), true }

// written are scripts as people and models write them, each with features that the others lack.
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

// TestTypeScriptKeepsPositions checks that each name in the compiled text maps back to its position in
// the user's text.
func TestTypeScriptKeepsPositions(t *testing.T) {
	for _, code := range written {
		p, err := Compile(Source{Code: code, Modules: anyModules{}, Language: "typescript"})
		require.NoError(t, err, code)
		tree, at := p.Tree()
		user := newLines(code)
		Walk(tree, func(n any) bool {
			id, ok := n.(*ast.Identifier)
			if !ok || id.Idx == 0 || !word(code, id.Name.String()) { // a name of the compiler's
				return true
			}
			line, column, ok := at(id.Idx)
			if text := user.from(line, column); ok && !strings.HasPrefix(text, "import") && !strings.HasPrefix(text, "default") { // statements that were rewritten
				require.True(t, strings.HasPrefix(text, id.Name.String()), "%s is at %d:%d, before %q", id.Name, line, column, text)
			}
			return true
		})
	}
}

func TestPositionsAfterWideCharacters(t *testing.T) {
	for _, code := range []string{
		"const s: string = 'äöü😀€'; nowhere(s)",
		"/* 😀 */ type A = 1; const ä: A = 1; nowhere(ä)",
		"const s: string = `\u2028`;\u2028nowhere(s)\n",
		"let x = 1 as number\r\nnowhere(x)",
		"const s: string = '😀'; if (s) { return nowhere(s) }",
	} {
		p, err := Compile(Source{Code: code})
		require.NoError(t, err)
		require.True(t, p.Lowered)
		tree, at := p.Tree()
		found := 0
		Walk(tree, func(n any) bool {
			if c, ok := n.(*ast.CallExpression); ok && is(c.Callee, "nowhere") {
				line, column, ok := at(c.LeftParenthesis)
				require.True(t, ok)
				require.True(t, strings.HasPrefix(newLines(code).from(line, column), "("), "%d:%d of %q", line, column, code)
				found++
			}
			return true
		})
		require.Equal(t, 1, found)
	}
}

func TestInvalidSourceMapIsRejected(t *testing.T) {
	for _, text := range []string{"", "{", `{"mappings": "AAAA;!"}`, `{"mappings": "g"}`, `{"mappings": "ggggggggggggggA"}`} {
		_, err := decodeSourceMap(text)
		require.ErrorIs(t, err, errSourceMap, text)
	}
}

func FuzzSourceMap(f *testing.F) {
	f.Add(`{"version": 3, "sources": ["koan:script"], "mappings": "AAAA,GAAG;;ACA;D"}`, "a\nb", 2, 3)
	f.Add(`{"sources": ["x", "koan:script"], "mappings": "CCCD,KAACF"}`, "ä😀", 1, 9)
	f.Fuzz(func(t *testing.T, text, code string, line, column int) {
		segments, err := decodeSourceMap(text)
		if err != nil {
			return
		}
		p := positions{user: newLines(code), segments: segments, made: newLines(code)}
		if l, _, ok := p.find(line, column); ok {
			require.True(t, l >= 1 && l <= len(p.user.text))
		}
	})
}
