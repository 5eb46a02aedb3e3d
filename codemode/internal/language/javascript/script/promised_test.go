package script

import (
	"testing"

	"github.com/dop251/goja/ast"
	"github.com/stretchr/testify/require"
)

// How many calls of callTool in a script may return a promise, of all.
func TestPromisedCalls(t *testing.T) {
	t.Parallel()
	for code, want := range map[string][2]int{
		// A promise is taken.
		`await callTool("a", {})`:                     {1, 1},
		`Promise.all([callTool("a"), callTool("b")])`: {2, 2},
		`await Promise.allSettled([one ? callTool("a") : callTool("b"), ...xs.map(x => callTool(x))])`: {3, 3},
		`await Promise.all(xs.map((x) => callTool("a", {x})))`:                                         {1, 1},
		`await Promise.all(xs.map(function (x) { return callTool("a", {x}); }))`:                       {1, 1},
		`await Promise.race(Array.from({length: 3}, (_, n) => callTool("a", {n})))`:                    {1, 1},
		`xs.map(async (x) => callTool("a", {x}))`:                                                      {1, 1},
		`async function f(x) { return callTool("a", {x}) }`:                                            {1, 1},
		`callTool("a").then((x) => x.n)`:                                                               {1, 1},
		`p.then(() => callTool("a"))`:                                                                  {1, 1},
		`const p = callTool("a"), q = callTool("b"); const [x, y] = await Promise.all([p, q])`:         {2, 2},
		`const p = callTool("a"); const y = await callTool("b"); use(await p, y)`:                      {2, 2},
		`const ps = xs.map(x => callTool(x)); const all = await Promise.all(ps)`:                       {1, 1},
		`const ps = []; for (const x of xs) ps.push(callTool(x)); await Promise.all(ps)`:               {1, 1},
		`const ps = xs.map(x => callTool(x)); for (const p of ps) use(await p)`:                        {1, 1},
		`const get = (x) => callTool(x); await Promise.all(xs.map(get)); await get(1)`:                 {1, 1},
		`function get(x) { return callTool(x) } await Promise.all([get(1), get(2)])`:                   {1, 1},
		`let p; p = callTool("a"); await p`:                                                            {1, 1},
		// The result is.
		`callTool("a", {})`:                                                     {0, 1},
		`callTool("a").n`:                                                       {0, 1},
		`await callTool("a").n`:                                                 {0, 1},
		`const r = callTool("a"); r.n`:                                          {0, 1},
		`const r = callTool("a"); await Promise.all([r]); r.n`:                  {0, 1},
		`const {n} = callTool("a")`:                                             {0, 1},
		`Promise.all(xs.map(x => callTool(x).n))`:                               {0, 1},
		`xs.map(x => callTool(x))`:                                              {0, 1},
		`const rs = xs.map(x => callTool(x)); rs.length; Promise.all(rs)`:       {0, 1},
		`const get = (x) => callTool(x); await get(1); get(2).n`:                {0, 1},
		`async function f(x) { try { return callTool(x) } catch { return 1 } }`: {0, 1},
		`async function f(x) { const r = callTool(x); g(); return r }`:          {0, 1},
		`const r = callTool("a"); const o = {r}; await r`:                       {0, 1},
		`function* f() { return callTool("a") } await f()`:                      {0, 1},
		`f(callTool("a"))`:                                                      {0, 1},
	} {
		tree, err := parse("(async () => {" + code + "})")
		require.NoError(t, err, code)
		all := 0
		Walk(tree, func(n any) bool {
			if call, ok := n.(*ast.CallExpression); ok && is(call.Callee, CallTool) {
				all++
			}
			return true
		})
		require.Equal(t, want, [2]int{len(findPromisedCalls(tree)), all}, code)
	}
}
