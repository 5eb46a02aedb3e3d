package sandbox

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework/fault"
)

// TestLimitsAtTheBoundary meets each limit exactly, and exceeds it by one.
func TestLimitsAtTheBoundary(t *testing.T) {
	sized := func(bytes int) map[string]func(context.Context, json.RawMessage) (string, error) {
		return map[string]func(context.Context, json.RawMessage) (string, error){
			"plugin::vision.detect": func(context.Context, json.RawMessage) (string, error) {
				return strconv.Quote(strings.Repeat("x", bytes-2)), nil
			},
		}
	}
	cases := map[string]struct {
		limit func(*wire.Limits, int)
		at    int                  // the limit
		code  func(n int) string   // meets a limit of n
		host  func(*todoHost, int) // makes the host meet it
		fault fault.Code
	}{
		"recursion": {
			limit: func(l *wire.Limits, n int) { l.MaxRecursion = n }, at: 100, fault: fault.JavaScriptError,
			code: func(n int) string {
				return "const f = i => i > 1 ? f(i - 1) : 0; f(" + strconv.Itoa(n) + ")"
			},
		},
		"bytes of the result": {
			limit: func(l *wire.Limits, n int) { l.MaxResultBytes = n }, at: 1000, fault: fault.ResultTooLarge,
			code: func(n int) string { return "'x'.repeat(" + strconv.Itoa(n-2) + ")" },
		},
		"bytes of the answer": {
			limit: func(l *wire.Limits, n int) { l.MaxResultBytes = n }, at: 1000, fault: fault.ResultTooLarge,
			code: func(n int) string { return "SDK.Out.answer('x'.repeat(" + strconv.Itoa(n-2) + ")); 1" },
		},
		"bytes of a call": {
			limit: func(l *wire.Limits, n int) { l.MaxCallBytes = n }, at: 5000, fault: fault.CallTooLarge,
			code: func(n int) string { return "SDK.Vision.detect({a: 'x'.repeat(" + strconv.Itoa(n-8) + ")}); 1" },
		},
		"bytes of what a call gives": {
			limit: func(l *wire.Limits, n int) { l.MaxCallBytes = n }, at: 5000, fault: fault.CallTooLarge,
			code: func(int) string { return "SDK.Vision.detect({}).length; 1" },
			host: func(h *todoHost, n int) { h.serve = sized(n) },
		},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				for over := range 2 {
					j, h := job(c.code(c.at+over)), newHost()
					c.limit(&j.Limits, c.at)
					if c.host != nil {
						c.host(h, c.at+over)
					}
					r := execute(t, x, j, h)
					if over == 0 {
						require.Nil(t, r.Fault, "exactly at the limit")
						continue
					}
					require.NotNil(t, r.Fault, "one beyond it")
					require.Equal(t, c.fault, r.Fault.Code)
					require.Contains(t, r.Fault.Message, strconv.Itoa(c.at), "the message names the limit")
				}
			})
		}
	})
}

// TestTruncationIsReported has logs and stacks at their limits and beyond.
func TestTruncationIsReported(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		log := func(bytes int) string {
			j := job("console.log('x'.repeat(" + strconv.Itoa(bytes) + "))")
			j.Limits.MaxLogMessageBytes = 100
			r := execute(t, x, j, newHost())
			require.Nil(t, r.Fault)
			require.Len(t, r.Logs, 1)
			require.LessOrEqual(t, len(r.Logs[0].Message), 100)
			return r.Logs[0].Message
		}
		require.Equal(t, strings.Repeat("x", 100), log(100))
		for _, n := range []int{101, 102, 5000, 5_000_000} {
			require.True(t, strings.HasSuffix(log(n), "x… (cut at 100 bytes: codeMode.maxLogMessageBytes)"), n)
		}

		entries := func(n int) []wire.Log {
			j := job("for (let i = 0; i < " + strconv.Itoa(n) + "; i++) console.log(i)")
			j.Limits.MaxLogEntries = 7
			return execute(t, x, j, newHost()).Logs
		}
		require.Len(t, entries(7), 7)
		require.Len(t, entries(8), 8)
		require.Contains(t, entries(8)[7].Message, "the rest of the logs is left out")

		stack := func(depth int) []string {
			j := job("function f(n) {\n  if (n > 1) f(n - 1); else throw new Error('deep')\n}\nf(" + strconv.Itoa(depth) + ")")
			j.Limits.MaxStackFrames = 4
			r := execute(t, x, j, newHost())
			var details struct{ Stack []string }
			raw, err := json.Marshal(r.Fault.Details)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(raw, &details))
			return details.Stack
		}
		require.Equal(t, []string{"f (2:35)", "f (2:15)", "f (2:15)", "script (4:2)"}, stack(3))
		require.Equal(t, []string{"f (2:35)", "f (2:15)", "f (2:15)", "f (2:15)", "… 1 more"}, stack(4))
	})
}

// TestFailureDetails checks the causes, nested errors and source line of faults.
func TestFailureDetails(t *testing.T) {
	cases := map[string]struct{ code, source, causes, errors string }{
		"causes": {
			"function f() {\n  throw new Error('outer', {cause: new TypeError('inner', {cause: 'deep'})})\n}\nf()",
			"throw new Error('outer', {cause: new TypeError('inner', {cause: 'deep'})})",
			`[{"message":"TypeError: inner","line":2,"column":36},{"message":"deep"}]`, "",
		},
		"a fault as the cause": {
			"try { SDK.Entities.Todo.getById('9') } catch (cause) { throw new Error('no milk', {cause}) }",
			"try { SDK.Entities.Todo.getById('9') } catch (cause) { throw new Error('no milk', {cause}) }",
			`[{"code":"not_found","message":"KoanError: there is no Todo \"9\"","line":1,"column":32}]`, "",
		},
		"errors in one": {
			"throw new AggregateError([new Error('a'), 'b'], 'both')", "throw new AggregateError([new Error('a'), 'b'], 'both')",
			"", `[{"message":"a","line":1,"column":27},{"message":"b"}]`,
		},
		"of a rejection": {
			"Promise.reject(new Error('lost', {cause: new Error('why')}))", "Promise.reject(new Error('lost', {cause: new Error('why')}))",
			`[{"message":"why","line":1,"column":42}]`, "",
		},
		"a circle":            {"const e = new Error('a'); e.cause = e; throw e", "const e = new Error('a'); e.cause = e; throw e", `[{"message":"a","line":1,"column":11}]`, ""},
		"a cause that loops":  {"throw Object.defineProperty(new Error('a'), 'cause', {get() { throw 1 }})", "throw Object.defineProperty(new Error('a'), 'cause', {get() { throw 1 }})", "", ""},
		"in TypeScript":       {"const a: number = 1;\n\n   throw new Error(`${a}`)  ", "throw new Error(`${a}`)", "", ""},
		"a fault":             {"1;\nSDK.Entities.Todo.getById('9')", "SDK.Entities.Todo.getById('9')", "", ""},
		"what does not parse": {"let a = 1\nlet b = = 2", "let b = = 2", "", ""},
		"a long line":         {"throw '" + strings.Repeat("x", 300) + "'", "throw '" + strings.Repeat("x", 193) + "…", "", ""},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				r := execute(t, x, job(c.code), newHost())
				require.NotNil(t, r.Fault)
				require.Equal(t, c.source, r.Fault.Source)
				raw, err := json.Marshal(r.Fault.Details)
				require.NoError(t, err)
				var details struct{ Causes, Errors json.RawMessage }
				require.NoError(t, json.Unmarshal(raw, &details))
				for _, pair := range [][2]string{{c.causes, string(details.Causes)}, {c.errors, string(details.Errors)}} {
					want, got := pair[0], pair[1]
					if want == "" {
						require.Empty(t, got)
						continue
					}
					require.JSONEq(t, want, got)
				}
			})
		}
	})
}

// Arguments that are too long are not what a call returned: less has to be sent.
func TestLongArgumentsNameThemselves(t *testing.T) {
	for code, path := range map[string]string{
		`SDK.Entities.Todo.upsert({notes: "x".repeat(2e6)})`:                              "/model",
		`SDK.Entities.Todo.patch("1", {notes: "x".repeat(6e5), more: ["x".repeat(6e5)]})`: "/changes",
		`SDK.Entities.Todo.getById("x".repeat(2e6))`:                                      "/id",
	} {
		j := job(code)
		j.Limits.MaxCallBytes = 1 << 20
		r := execute(t, NewInProcess(languages.All), j, newHost())
		require.NotNil(t, r.Fault, code)
		require.Equal(t, []string{string(fault.CallTooLarge), path, "Send less in one call: fewer rows, or less in each."}, []string{string(r.Fault.Code), r.Fault.Path, r.Fault.Hint}, code)
	}
}

// What is too long is refused, or cut, before its JSON exists: the text would take more memory than the
// script may use.
func TestTextsAreMeasuredBeforeTheyAreMade(t *testing.T) {
	s := box(t)
	for code, want := range map[string]fault.Code{
		`SDK.Vision.detect({a: many})`:                                       fault.CallTooLarge,
		`SDK.Entities.Todo.upsert({title: "x", notes: many})`:                fault.CallTooLarge,
		`SDK.Entities.Todo.upsertMany(many.map(notes => ({notes})))`:         fault.CallTooLarge,
		`SDK.Vision.detect({a: many.map(s => Object.fromEntries([[s,1]]))})`: fault.CallTooLarge,
		`many`:                         fault.ResultTooLarge,
		`({a: {b: many}})`:             fault.ResultTooLarge,
		`SDK.Out.answer(many)`:         fault.ResultTooLarge,
		`SDK.Out.emit({many})`:         fault.ResultTooLarge,
		`console.log({many}, many); 1`: "",
		`throw {many}`:                 fault.JavaScriptError,
	} {
		j := job(`const many = Array(40).fill("x".repeat(4e6)); ` + code)
		j.Limits.MemoryBytes = 64 << 20
		r := execute(t, s, j, newHost())
		if want == "" {
			require.Nil(t, r.Fault, code)
			continue
		}
		require.NotNil(t, r.Fault, code)
		require.Equal(t, want, r.Fault.Code, code)
	}
}
