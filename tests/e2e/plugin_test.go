package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
)

// outputSchema is what tools/list says of a tool's structured content.
func (p *peer) outputSchema(tool string) json.RawMessage {
	p.t.Helper()
	var list struct {
		Tools []struct {
			Name         string
			OutputSchema json.RawMessage
		}
	}
	require.NoError(p.t, json.Unmarshal(p.call("tools/list", map[string]any{}).Result, &list))
	for _, t := range list.Tools {
		if strings.NewReplacer("_", ".").Replace(t.Name) == tool {
			return t.OutputSchema
		}
	}
	p.t.Fatalf("no tool %s", tool)
	return nil
}

// TestPluginOutputThatDoesNotFit: a client gets a failure that fits the tool's output
// schema, not a result that does not.
func TestPluginOutputThatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := withNap(t).serve()
	promised := p.outputSchema("nap.take")
	r := p.tool("nap.take", map[string]any{"ms": 1})
	require.False(t, r.IsError)
	require.NoError(t, schema.Check(promised, r.Structured))
	r = p.tool("nap.take", map[string]any{"ms": -5})
	require.True(t, r.IsError)
	require.NoError(t, schema.Check(promised, r.Structured))
	var failure struct{ Error executionFailure }
	require.NoError(t, json.Unmarshal(r.Structured, &failure))
	require.Equal(t, string(fault.ExecutionError), failure.Error.Code)
	require.Contains(t, failure.Error.Message, "nap.take")
	require.Contains(t, string(r.Structured), `"path":"/ms"`)

	out := p.execute("try { SDK.Nap.take({ms: -5}) } catch (e) { SDK.Out.answer([e.code, e.details[0].path]) }")
	require.Equal(t, []any{string(fault.ExecutionError), "/ms"}, out.Answer)
	require.Equal(t, 1, strings.Count(p.stderr.String(), "does not fit its output schema"), p.stderr.String())
}
