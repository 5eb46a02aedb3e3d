package typegen_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

var update = flag.Bool("update", false, "write the golden files")

func entityOps(r *catalog.Resource) []*catalog.Operation {
	inputs := map[string]string{
		"collection": "filter q sort page pageSize cursor count fields with set", "get-by-id": "id set with fields", "new": "set",
		"upsert": "model replace ifVersion set", "upsert-many": "models set", "patch": "id changes ifVersion set",
		"delete": "id ifVersion set", "delete-many": "ids set", "count": "filter set", "aggregate": "filter groupBy count sum avg min max having sort limit set",
		"update-by-query": "filter changes maxAffected all set", "delete-by-query": "filter maxAffected all set",
	}
	var out []*catalog.Operation
	for _, op := range r.Operations {
		props := map[string]any{}
		for _, p := range strings.Fields(inputs[op]) {
			props[p] = map[string]any{}
		}
		in, _ := json.Marshal(map[string]any{"type": "object", "properties": props})
		out = append(out, operation(catalog.EntityID(r.Name, op), string(in), "{}"))
		out[len(out)-1].Resource = r.Name
	}
	return out
}

func operation(id catalog.ID, in, out string) *catalog.Operation {
	return &catalog.Operation{
		ID:       id,
		Contract: catalog.Contract{Input: json.RawMessage(in), Output: json.RawMessage(out)},
		Listing:  catalog.Listing{Summary: "Does " + id.Op + ".", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil },
		},
	}
}

func view(t testing.TB, offers ...catalog.Offer) *catalog.View {
	s, err := catalog.NewSnapshot(offers...)
	require.NoError(t, err)
	return s.View(auth.Local(), exposure.Full, false)
}

func offer(resources ...*catalog.Resource) catalog.Offer {
	o := catalog.Offer{Resources: resources}
	for _, r := range resources {
		o.Operations = append(o.Operations, entityOps(r)...)
	}
	return o
}

func ptr[T any](v T) *T { return &v }

var writing = strings.Fields("collection get-by-id count aggregate new upsert upsert-many patch update-by-query delete-by-query delete delete-many")

func sample() catalog.Offer {
	o := offer(
		&catalog.Resource{
			Name: "Todo", Description: "A thing somebody has to do. */ hostile", Key: catalog.Field{Name: "id", Type: catalog.TypeID},
			Fields: []catalog.Field{
				{Name: "title", Description: "What is to be done.", Type: catalog.TypeString, Required: true, MaxLength: ptr(200)},
				{Name: "completed", Type: catalog.TypeBool, Default: json.RawMessage("false")},
				{Name: "priority", Type: catalog.TypeEnum, Enum: []string{"low", "high \"x\""}, Nullable: true},
				{Name: "effort", Type: catalog.TypeFloat, Min: ptr(0.5), Max: ptr(8.0)},
				{Name: "dueAt", Type: catalog.TypeTime, Nullable: true},
				{Name: "startsOn", Type: catalog.TypeDay, Nullable: true},
				{Name: "tags", Type: catalog.TypeJSON, Schema: json.RawMessage(`{"type":"array","items":{"type":"string"}}`)},
				{Name: "meta", Type: catalog.TypeJSON, Nullable: true},
				{Name: "pin", Type: catalog.TypeString, WriteOnly: true},
				{Name: "assigneeId", Type: catalog.TypeID, Nullable: true, Edge: "assignee"},
			},
			Edges: []catalog.Edge{{Name: "assignee", Target: "Person", Reference: "assigneeId"}, {Name: "steps", Target: "Todo", Many: true}},
			Sets:  []string{"default", "tenant-*"}, Versioned: true, Operations: writing,
		},
		&catalog.Resource{
			Name: "Person", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "name", Type: catalog.TypeString}},
			Edges: []catalog.Edge{{Name: "todos", Target: "Todo", Many: true}}, Operations: writing,
		},
		&catalog.Resource{
			Name: "Product", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "gtin", Type: catalog.TypeString}, {Name: "price-class", Type: catalog.TypeDecimal}},
			ReadOnly: true, Operations: []string{"collection", "get-by-id", "count"},
		})
	o.Operations = append(o.Operations,
		operation(catalog.PluginID("vision", "detect"), `{"type":"object","properties":{"path":{"type":"string","description":"Below plugins.vision.root."},"mode":{"enum":["fast","thorough"]}}}`,
			`{"type":"object","required":["detections"],"properties":{"detections":{"type":"array","items":{"$ref":"#/$defs/Detection"}}},"additionalProperties":false,
			"$defs":{"Detection":{"type":"object","required":["value","box"],"properties":{"value":{"type":"string"},"confidence":{"type":"number","minimum":0,"maximum":1},"box":{"$ref":"#/$defs/Box"}}},"Box":{"type":"object","required":["x","y"],"properties":{"x":{"type":"integer"},"y":{"type":"integer"}}}}}`),
		operation(catalog.PluginID("out", "delete"), hostileSchema, hostileSchema))
	return o
}

const hostileSchema = `{"type":"object","required":["tree","in valid","class"],"properties":{
	"tree":{"$ref":"#/$defs/Node"},"loop":{"$ref":"#/$defs/A"},"self":{"$ref":"#"},"in valid":{"type":["string","null"]},"class":{"const":-1.5},"1st":true,"never":false,
	"__proto__":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"*/ } evil(); /* \u2028 \n"},
	"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":{"type":"boolean"}},"old":{"items":[{"type":"string"}],"additionalItems":false},
	"map":{"additionalProperties":{"type":"integer"}},"both":{"allOf":[{"properties":{"a":{"type":"string"}}},{"oneOf":[{"const":"x"},{"const":null}]}]},
	"nullable":{"type":"string","nullable":true},"far":{"$ref":"https://example.com/x.json"},"broken":{"$ref":"#/$defs/None"},"deep":{"$ref":"#/properties/pair"},"odd":{"type":7},
	"values":{"enum":["*/","` + "`" + `${1}",1,true,null,{"a":[1]}]},"":{"type":"string"},"list":{"type":"array","items":{"enum":["a","b"]}},"empty":{"enum":[]}},
	"patternProperties":{"^x":{"type":"string"}},
	"$defs":{"Node":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}}},
	"A":{"$ref":"#/$defs/B"},"B":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/C"},{"type":"string"}]},"C":{"oneOf":[{"$ref":"#/$defs/C"},{"type":"array","items":{"$ref":"#/$defs/C"}}]},"*/ x":{"$ref":"#/$defs/A"}}}`

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	v := view(t, sample())
	all := typegen.TypeScript{}.Declarations(v)
	golden(t, "koan.d.ts", all)
	require.Equal(t, all, typegen.TypeScript{}.Declarations(view(t, sample())), "the same content gives the same bytes")
	require.NoError(t, balanced(all))

	one, ok := typegen.TypeScript{}.Entity(v, "Todo")
	require.True(t, ok)
	golden(t, "Todo.d.ts", one)
	for _, text := range []string{all, one} {
		head, rest, _ := strings.Cut(text, "\n")
		sum := sha256.Sum256([]byte(rest))
		require.True(t, strings.HasSuffix(head, " sha256-"+base64.StdEncoding.EncodeToString(sum[:])), head)
	}
	_, ok = typegen.TypeScript{}.Entity(v, "Nobody")
	require.False(t, ok)

	block, ok := typegen.TypeScript{}.Block(v, "Product")
	require.True(t, ok)
	require.Contains(t, block, "getById(id: Id")
	require.NotContains(t, block, "upsert")
	fn, ok := typegen.TypeScript{}.Function(v, catalog.PluginID("vision", "detect"))
	require.True(t, ok)
	require.Contains(t, fn, "detect(input?: Vision.DetectInput): Vision.DetectOutput;")
	method, ok := typegen.TypeScript{}.Method(v, catalog.EntityID("Todo", "get-by-id"), false)
	require.True(t, ok)
	require.Contains(t, method, "/** throws not_found */ getById(id: Id")
	require.NotContains(t, method, "title")
}

func TestInlineKeepsItsBudget(t *testing.T) {
	t.Parallel()
	v := view(t, sample())
	all, complete := typegen.TypeScript{}.Inline(v, 16000)
	require.True(t, complete)
	require.NoError(t, balanced(all))
	inline := func(v *catalog.View, budget int) string {
		text, complete := typegen.TypeScript{}.Inline(v, budget)
		require.False(t, complete)
		return text
	}
	bare, complete := typegen.TypeScript{}.Inline(v, len(all)-1)
	require.True(t, complete)
	require.NotContains(t, bare, "What is to be done")
	require.Contains(t, bare, "title: string;")
	require.NoError(t, balanced(bare))
	detailed := inline(v, len(bare)-1)
	require.Contains(t, detailed, `SDK.Entities.Todo: id, title, completed, priority=low|high "x", effort, dueAt`)
	lines := inline(v, len(detailed)-1)
	require.Contains(t, lines, "SDK.Entities.Todo: id, title, completed, priority, effort, dueAt, startsOn, tags, meta, assigneeId; with assignee, steps\n")
	require.Contains(t, lines, "SDK.Entities.Product (read-only): id, gtin, price-class\n")
	require.Contains(t, lines, "SDK.Vision: detect\n")
	require.Empty(t, inline(v, len(lines)-1))
	require.Empty(t, inline(view(t, many(41)), 5000), "beyond 40 entities there are bare names")

	all, more := typegen.TypeScript{}.Overview(v, len(lines))
	require.Equal(t, lines, all)
	require.Empty(t, more)
	all, more = typegen.TypeScript{}.Overview(v, len(lines)-1)
	require.Equal(t, "SDK: Out2 Vision\nSDK.Entities: Person Product Todo\n", all)
	require.Empty(t, more)
	all, more = typegen.TypeScript{}.Overview(view(t, many(200)), 900)
	require.LessOrEqual(t, len(all), 900)
	require.Greater(t, len(all), 880)
	require.Contains(t, all, fmt.Sprintf(" … and %d more\n", len(more)))
	require.Len(t, append(strings.Fields(strings.Split(all, " …")[0])[1:], more...), 200, "none is lost")
}

// What a field holds stands beside its name where few words say it.
func TestInlineSaysWhatFieldsHold(t *testing.T) {
	lot := &catalog.Resource{Name: "Lot", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: writing, Sets: []string{"default"}}
	for _, f := range []struct {
		name, description string
		of                catalog.FieldType
	}{
		{"amount", "Grams per 100 g; null: nobody knows.", catalog.TypeDecimal},
		{"unit", "Of: g, ml, piece. Staples have none.", catalog.TypeString},
		{"name", "What it is: as people say it.", catalog.TypeString},
		{"tags", "Of: fresh, frozen.", catalog.TypeJSON},
		{"days", strings.Repeat("Long words. ", 9) + "; x", catalog.TypeInt},
		{"weight", strings.Repeat("long words ", 9), catalog.TypeFloat},
		{"opened", "When it was opened, in UTC.", catalog.TypeTime},
	} {
		lot.Fields = append(lot.Fields, catalog.Field{Name: f.name, Description: f.description, Type: f.of})
	}
	lot.Fields = append(lot.Fields, catalog.Field{Name: "place", Type: catalog.TypeEnum, Enum: []string{"pantry", "fridge"}}, catalog.Field{Name: "made", Description: "Counted up.", Type: catalog.TypeInt, ReadOnly: true})
	text, complete := typegen.TypeScript{}.Inline(view(t, offer(lot)), 600)
	require.False(t, complete)
	require.Equal(t, "SDK.Entities.Lot: id, amount (Grams per 100 g), unit (Of: g, ml, piece), name, tags (Of: fresh, frozen), days (Long words), weight, opened, place=pantry|fridge, made\n", text)
}

func many(n int) catalog.Offer {
	var rs []*catalog.Resource
	for i := range n {
		r := &catalog.Resource{Name: fmt.Sprintf("Entity%dX", i), Description: "An entity.", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: writing, Sets: []string{"default", "other"}}
		for j := range 12 {
			r.Fields = append(r.Fields, catalog.Field{Name: fmt.Sprintf("field%d", j), Description: "A field.", Type: catalog.TypeString, MaxLength: ptr(100)})
		}
		r.Edges = []catalog.Edge{{Name: "next", Target: fmt.Sprintf("Entity%dX", (i+1)%n)}}
		rs = append(rs, r)
	}
	return offer(rs...)
}

func BenchmarkDeclarations200(b *testing.B) {
	o := many(200)
	for range b.N {
		b.StopTimer()
		v := view(b, o)
		b.StartTimer()
		typegen.TypeScript{}.Declarations(v)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms")
}

// balanced reads text as TypeScript's lexer would, and returns an error if a string,
// comment or bracket is not closed.
func balanced(src string) error {
	var open []byte
	closing := map[byte]byte{'{': '}', '[': ']', '(': ')'}
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '/':
			end := ""
			if strings.HasPrefix(src[i:], "//") {
				end = "\n"
			} else if strings.HasPrefix(src[i:], "/*") {
				end = "*/"
			} else {
				return fmt.Errorf("a slash at %d", i)
			}
			n := strings.Index(src[i+2:], end)
			if n < 0 {
				return fmt.Errorf("a comment that does not close at %d", i)
			}
			i += 2 + n + len(end) - 1
		case '"', '`':
			start := i
			for i++; i < len(src) && src[i] != c; i++ {
				if src[i] == '\\' {
					i++
				}
				if i < len(src) && src[i] == '\n' {
					return fmt.Errorf("a string with a line break at %d", start)
				}
			}
			if i >= len(src) {
				return fmt.Errorf("a string that does not close at %d", start)
			}
		case '{', '[', '(':
			open = append(open, closing[c])
		case '}', ']', ')':
			if len(open) == 0 || open[len(open)-1] != c {
				return fmt.Errorf("a bracket too many at %d", i)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d brackets that do not close", len(open))
	}
	return nil
}
