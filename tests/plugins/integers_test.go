package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/fixture"
)

// digits is an integer that is written as a string, as in a language without integers beyond 2^53.
type digits string

// JSONSchema says that it is an integer.
func (digits) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer"} }

type numbers struct {
	N    int64   `json:"n"`
	U    uint64  `json:"u"`
	List []int64 `json:"list"`
	Any  any     `json:"any,omitempty"`
}

type summed struct {
	numbers
	Said    string `json:"said"` // what it got, as Go has it
	Written digits `json:"written"`
	Stored  string `json:"stored"` // the views of a todo, as Go has them
}

// sums is a plugin that returns integers, and stores them.
func sums() kit.Plugin {
	type todo struct {
		Views int64 `json:"views"`
	}
	pass := func(ctx context.Context, call kit.Call, in numbers) (summed, error) {
		out := summed{numbers: in, Said: fmt.Sprintf("%d %d %d %v", in.N, in.U, in.List, in.Any), Written: digits(fmt.Sprint(in.N))}
		var one todo
		if err := call.Invoke(ctx, "koan::Todo.patch", map[string]any{"id": "1", "changes": todo{in.N}}, &one); err != nil {
			return out, err
		}
		var again map[string]any
		err := call.Invoke(ctx, "koan::Todo.get-by-id", map[string]any{"id": "1"}, &again)
		out.Stored = fmt.Sprintf("%d %v", one.Views, again["views"])
		return out, err
	}
	return kit.Plugin{
		Domain: "sums", Version: "1.0.0", Description: "Returns integers.", Needs: []string{"koan::Todo.*"},
		Functions: []kit.Function{kit.Func("pass", "Return integers.", pass)},
	}
}

// Integers of any size go in and out of a plugin, and between it and the app, as they are.
func TestIntegersOfAnySize(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App(), set("plugins.dir", folderOf(t, "sums")), set("plugins.sums.grants", "koan::Todo.*"))
	const large, said, stored = `9007199254740993`, `9007199254740993 18446744073709551615 [-9007199254740993 9223372036854775807] 123456789012345678901`, `9007199254740993 9007199254740993`
	for name, input := range map[string]string{
		"numbers": `{"n":9007199254740993,"u":18446744073709551615,"list":[-9007199254740993,9223372036854775807],"any":123456789012345678901}`,
		"strings": `{"n":"9007199254740993","u":"18446744073709551615","list":["-9007199254740993","9223372036854775807"],"any":123456789012345678901}`,
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := k.Call("plugin::sums.pass", json.RawMessage(input))
			require.NoError(t, err)
			require.Contains(t, string(raw), `"said":"`+said+`"`)
			require.Contains(t, string(raw), `"n":`+large)
			require.Contains(t, string(raw), `"u":18446744073709551615`)
			require.Contains(t, string(raw), `"written":`+large, "a string of digits where the schema has an integer")
			require.Contains(t, string(raw), `"stored":"`+stored+`"`)
		})
	}
	t.Run("in a script", func(t *testing.T) {
		var got struct {
			Said, Stored string
			N, U         string
			Written      string
			List         []string
		}
		k.Run(`SDK.Out.answer(SDK.Sums.pass({n: 9007199254740993n, u: "18446744073709551615", list: [-9007199254740993n, "9223372036854775807"], any: 123456789012345678901n}))`, koantest.Input{}).AnswerInto(&got)
		require.Equal(t, said, got.Said)
		require.Equal(t, stored, got.Stored)
		require.Equal(t, []string{large, "18446744073709551615", large, "-9007199254740993", "9223372036854775807"}, append([]string{got.N, got.U, got.Written}, got.List...), "beyond 2^53 they are strings")
		require.Equal(t, fault.InvalidPayload, codeOf(k.Try(`SDK.Sums.pass({n: 9007199254740993, u: 1, list: []})`, koantest.Input{})), "rounded by JavaScript before anybody saw it")
	})
}
