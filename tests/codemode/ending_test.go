package codemode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// What a script ends with is its result, in a branch too, and however it is run: as a
// plain script, with await, as a module.
func TestResultOfABranch(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for name, tt := range map[string]struct{ code, want string }{
		"if":            {"1; if (true) { 5 } else { 6 }", "5"},
		"else":          {"1; if (SDK.args.none) { 5 } else 6", "6"},
		"try":           {"1; try { 5 } catch { 6 }", "5"},
		"catch":         {"1; try { SDK.Entities.Todo.getById('nobody') } catch (e) { e.code }", `"not_found"`},
		"finally":       {"1; try { 5 } finally { 7 }", "5"},
		"block":         {"1; { 5 }", "5"},
		"switch":        {"1; switch (2) { case 1: 4; break; case 2: 5; break; default: 6 }", "5"},
		"nested":        {"1; label: { try { if (true) { 5; var later } } catch {} }", "5"},
		"function last": {"5; function f() { 6 }", "5"},
	} {
		for kind, head := range map[string]string{"plain": "", "await": "await null; ", "module": "import { ToolCallError } from '@codemode/errors'; "} {
			t.Run(name+", "+kind, func(t *testing.T) {
				require.JSONEq(t, tt.want, string(k.Run(head+tt.code, koantest.Input{}).Result))
			})
		}
	}
}
