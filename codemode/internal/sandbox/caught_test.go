package sandbox

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// What a script calls and SDK does not have is said in an error that it catches as in one that
// ends it; nothing else of the error, of the script's value or of what SDK has changes.
func TestCaughtErrorsNameWhatThereIs(t *testing.T) {
	says := map[string]string{
		`try { SDK.Entities.Todo.first() } catch (e) { globalThis.result = e.message }`:                                                     "Todo has no method `first`",
		`const T = SDK.Entities.Todo; try { T.firstPag(1) } catch (e) { globalThis.result = e.message }`:                                    `did you mean "firstPage"`,
		`function f() { return SDK.Entities.Todo.findMany({}) } try { f() } catch (e) { globalThis.result = e.message }`:                    "Todo has no method `findMany`",
		`try { SDK.Entities.Todos.all() } catch (e) { globalThis.result = e.message }`:                                                      "there is no entity `Todos`",
		`const f = async (): Promise<void> => { SDK.Entities.Todo.first() }; try { await f() } catch (e) { globalThis.result = e.message }`: "Todo has no method `first`",
		`try { SDK.Entities.Todo.first() } catch (e) { globalThis.result = e.message }; 1`:                                                  `(Object has no member 'first')`,
	}
	keeps := map[string]string{
		`[typeof SDK.Entities.Todo.first, "first" in SDK.Entities.Todo, SDK.Entities.Todo.first?.() === undefined]`:                 `["undefined",false,true]`,
		`let r; try { SDK.Entities.Todo.first() } catch (e) { r = [e instanceof TypeError, e.name, Object.keys(e)] } r`:             `[true,"TypeError",[]]`,
		`let x; try { x.y } catch (e) { e.message }`:                                                                                `"Cannot read property 'y' of undefined"`,
		`try { ({}).first() } catch (e) { e.message }`:                                                                              `"Object has no member 'first'"`,
		`try { throw new TypeError("Object has no member 'first'") } catch (e) { e.message }`:                                       `"Object has no member 'first'"`,
		`try { throw null } catch (e) { [e] }`:                                                                                      `[null]`,
		`try { throw {message: 1} } catch ({ message }) { message }`:                                                                `1`,
		`try { throw 1 } catch (e) { let f = e; f + 1 }`:                                                                            `2`,
		`7; try { throw 1 } catch (e) {}`:                                                                                           ``,
		`try { throw 1 } catch (e) { var e2 = e; } e2`:                                                                              `1`,
		`let o = []; for (let i = 0; i < 3; i++) try { SDK.Entities.Todo.first() } catch (e) { o.push(e.message) } new Set(o).size`: `1`,
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for code, want := range says {
			r := execute(t, x, job(code), newHost())
			require.Nil(t, r.Fault, code)
			var message string
			require.NoError(t, json.Unmarshal(r.Result, &message), "%s gave %s", code, r.Result)
			require.Contains(t, message, want, code)
		}
		for code, want := range keeps {
			r := execute(t, x, job(code), newHost())
			require.Nil(t, r.Fault, code)
			require.Equal(t, want, string(r.Result), code)
		}
	})
}
