package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// seeds are inputs, good and bad, for any operation.
var seeds = []string{
	`{}`, `{"set":"default"}`, `{"set":5}`, `[]`, `null`, `{"model":{}}`, `{"model":{"title":"x"}}`, `{"model":{"title":"x","views":1e3,"effort":2}}`,
	`{"model":{"title":"x","views":"9007199254740993"}}`, `{"model":{"title":"x","views":"1"}}`, `{"model":{"title":"","effort":1001}}`,
	`{"model":{"title":"x","dueDate":null,"tags":["a"],"priority":"low","assignedUser":{"id":"a"},"labels":[1,"2",{"id":3}]}}`,
	`{"model":{"title":"x","labels":{"$add":[1],"$remove":["2"]}},"replace":true,"ifVersion":2}`, `{"model":{"title":"x","labels":{}}}`,
	`{"model":{"title":"x","secret":null,"createdAt":"2026-01-01T00:00:00Z","version":7,"completed":1}}`, `{"model":{"id":5,"title":"x"}}`,
	`{"models":[{"title":"x"},{"titel":"x"}]}`, `{"models":{}}`, `{"id":"x"}`, `{"id":1}`, `{"id":null}`, `{"id":"1","ifVersion":1.5}`, `{"ids":["a","b",1]}`,
	`{"id":"x","changes":{"title":"y","tags":{}}}`, `{"id":"x","changes":{"notes":null,"steps":["s"]}}`, `{"filter":{"title":{"$eq":"x"}},"page":2,"pageSize":200,"count":false}`,
	`{"page":0}`, `{"pageSize":201}`, `{"sort":"-title","fields":["title"],"with":"all"}`, `{"filter":[]}`, `{"q":"milk"}`, `{"q":5}`, `{"with":5}`, `{"sort":{}}`, `{"fields":[1]}`, `{"cursor":"x"}`,
	`{"filter":{"completed":false},"groupBy":["priority",{"field":"dueDate","by":"week"}],"count":{"all":true,"distinct":"assignedUser"},"sum":"effort","having":{"count":{"$gt":1}},"sort":"-count","limit":5}`,
	`{"groupBy":{"field":"dueDate","by":"hour"}}`, `{"groupBy":{}}`, `{"count":{}}`, `{"limit":0}`, `{"sum":[]}`, `{"having":[]}`, `{"groupBy":[{"field":"dueDate","as":"1"}]}`,
	`{"filter":{},"changes":{"title":"x","labels":[1]},"maxAffected":10}`, `{"filter":{},"changes":{}}`, `{"filter":{},"maxAffected":0}`, `{"filter":{},"maxAffected":1e9}`, `{"filter":{},"maxAffected":1e2}`,
}

type checker struct {
	op     *catalog.Operation
	schema *jsonschema.Schema
}

func checkers(tb testing.TB) []checker {
	var out []checker
	for _, op := range entities.Provide(ent.Entities(), entities.Options{}).Offer().Operations {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(op.Input))
		require.NoError(tb, err)
		c := jsonschema.NewCompiler()
		require.NoError(tb, c.AddResource("input.json", doc))
		s, err := c.Compile("input.json")
		require.NoError(tb, err, "%s", op.ID)
		out = append(out, checker{op, s})
		doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(op.Output))
		require.NoError(tb, err)
		require.NoError(tb, c.AddResource("output.json", doc))
		_, err = c.Compile("output.json")
		require.NoError(tb, err, "%s", op.ID)
	}
	return out
}

// accepts is what the operation says of an input. waits reports whether the input has a value that its
// field does not take, which is no change where the entity has it already: only the handler finds out.
func (c checker) accepts(input []byte) (waits bool, err error) {
	d, err := c.op.Decode(catalog.Input{JSON: input, Set: "default"})
	switch in := d.Value.(type) {
	case *model.CreateInput:
		waits = len(in.Values.Refused) > 0
	case *model.UpsertInput:
		waits = len(in.Values.Refused) > 0
	case *model.UpsertManyInput:
		waits = slices.ContainsFunc(in.Models, func(m *model.Values) bool { return len(m.Refused) > 0 })
	case *model.PatchInput:
		waits = len(in.Changes.Refused) > 0
	}
	return waits, err
}

// agree fails where the schema refuses what the check of its operation accepts.
func agree(tb testing.TB, all []checker, input []byte) {
	for _, c := range all {
		waits, err := c.accepts(input)
		if fault.CodeOf(err) == fault.UnknownSet {
			err = nil // the schema does not look at sets
		}
		if err != nil {
			code := fault.CodeOf(err)
			require.Contains(tb, []fault.Code{fault.InvalidPayload, fault.CapabilityUnsupported}, code, "%s %s: %v", c.op.ID, input, err)
			continue
		}
		if waits {
			continue
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(input))
		require.NoError(tb, err, "%s %s", c.op.ID, input)
		require.NoError(tb, c.schema.Validate(v), "%s accepts %s", c.op.ID, input)
	}
}

func TestChecksAreAsStrictAsTheirSchemas(t *testing.T) {
	t.Parallel()
	all := checkers(t)
	for _, s := range seeds {
		agree(t, all, []byte(s))
	}
}

func FuzzInputs(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	all := checkers(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		if json.Valid(input) {
			agree(t, all, input)
			return
		}
		for _, c := range all {
			_, err := c.accepts(input)
			require.Error(t, err, "%s accepts %q", c.op.ID, input)
		}
	})
}

// callsOfAll call each operation once at least, in an order in which they succeed.
var callsOfAll = [][2]string{
	{"Person.upsert", `{"model":{"id":"ann","name":"Ann","email":"a"}}`},
	{"Label.upsert-many", `{"models":[{"name":"home"},{"name":"work"}]}`},
	{"Todo.new", `{}`},
	{"Todo.create", `{"model":{"id":"c","title":"x"}}`},
	{"Todo.upsert", `{"model":{"id":"t","title":"x","views":"9007199254740993","assignedUserId":"ann","labels":[1]}}`},
	{"Todo.patch", `{"id":"t","changes":{"dueDate":"2026-01-01T00:00:00Z","effort":1}}`},
	{"Todo.get-by-id", `{"id":"t","with":"all"}`},
	{"Todo.get-by-id", `{"id":"t","fields":"title"}`},
	{"Todo.collection", `{"with":"labels,assignedUser"}`},
	{"Todo.count", `{}`},
	{"Todo.aggregate", `{"groupBy":["priority",{"field":"dueDate","by":"day"}],"max":"views"}`},
	{"Todo.update-by-query", `{"filter":{"id":"t"},"changes":{"title":"y"}}`},
	{"Label.delete-by-query", `{"filter":{"name":"work"}}`},
	{"Todo.delete", `{"id":"t"}`},
	{"Label.delete-many", `{"ids":[1,"2"]}`},
}

// withoutInput is a call whose handler must do with what was decoded.
type withoutInput struct {
	catalog.Call
	tb testing.TB
}

func (c withoutInput) Input() json.RawMessage {
	c.tb.Errorf("the handler of %s reads its input again", c.Operation().ID)
	return nil
}

func TestInputsAreDecodedOnce(t *testing.T) {
	t.Parallel()
	a := start(t, ent.Entities())
	offer, decoded := a.provider.Offer(), map[string]int{}
	for i, op := range offer.Operations {
		own := *op
		own.Decode = func(in catalog.Input) (catalog.Decoded, error) {
			decoded[op.ID.Op]++
			return op.Decode(in)
		}
		own.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
			return op.Handler(ctx, withoutInput{c, t})
		}
		offer.Operations[i] = &own
	}
	s, err := catalog.NewSnapshot(offer)
	require.NoError(t, err)
	a.view = s.View(auth.Local(), exposure.Full, false)
	called := map[string]int{}
	for _, c := range callsOfAll {
		a.call(c[0], c[1])
		_, op, _ := strings.Cut(c[0], ".")
		called[op]++
	}
	require.Equal(t, called, decoded)
	require.Len(t, decoded, len(catalog.EntityOperationNames()))
}

func TestOutputsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOutputsFitTheirSchemas) {
		return
	}
	a := start(t, ent.Entities())
	outputs := map[string]*jsonschema.Schema{}
	for _, op := range a.view.Snapshot().Operations() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(op.Output))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("output.json", doc))
		outputs[op.ID.Owner+"."+op.ID.Op], err = c.Compile("output.json")
		require.NoError(t, err)
	}
	for _, c := range callsOfAll {
		out, _, err := a.try(c[0], c[1])
		require.NoError(t, err, c[0])
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(out)))
		require.NoError(t, err)
		require.NoError(t, outputs[c[0]].Validate(v), "%s gave %s", c[0], out)
	}
}
