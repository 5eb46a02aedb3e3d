package codemode

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

func view(k *koantest.Kit) *catalog.View {
	return k.Instance().Snapshot().View(auth.Local(), exposure.Full, false)
}

// declarations returns what `APP sdk` prints.
func declarations(t *testing.T, v *catalog.View) string {
	t.Helper()
	for _, d := range v.Snapshot().Documents() {
		if d.URI == "koan://sdk/koan.d.ts" {
			text, err := d.Read(context.Background(), v, "")
			require.NoError(t, err)
			return string(text)
		}
	}
	require.Fail(t, "there are no declarations")
	return ""
}

var folder = flag.String("reference", "../../docs/reference", "where the generated pages are")

func reference(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(*folder, page))
	require.NoError(t, err)
	return string(text)
}

var dollarName = regexp.MustCompile(`\$[A-Za-z]+\b`)

// operatorsIn returns the operators that a text names.
func operatorsIn(text string) []string {
	names := slices.DeleteFunc(dollarName.FindAllString(text, -1), func(name string) bool {
		return slices.Contains([]string{"$add", "$remove", "$set"}, name) // of models
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func TestEveryProjectionNamesTheOperatorsOfFilters(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	v := view(k)
	var want []string
	for op := range catalog.FilterOperators() {
		want = append(want, op.Name)
	}
	described, err := k.Call("code::entities.describe", map[string]any{"entity": "Todo"})
	require.NoError(t, err)
	var help struct{ Filter string }
	require.NoError(t, json.Unmarshal(described, &help))
	projections := map[string]string{
		"schema of a filter":    string(v.Operation(catalog.EntityID("Todo", "collection")).Input),
		"description of a tool": help.Filter,
		"declarations":          strings.ReplaceAll(declarations(t, v), "{$file: id}", ""), // the content of a file, no operator
		"reference":             reference(t, "operations.md"),
	}
	if *added == "" { // written by hand
		projections["page on filters"] = reference(t, "filter.md")
	}
	for projection, text := range projections {
		require.ElementsMatch(t, want, operatorsIn(text), projection)
	}
}

// operand returns what an operator takes at a field of a class.
func operand(c catalog.FieldClass, op catalog.FilterOperator) any {
	value := map[catalog.FieldClass]any{catalog.ClassText: "x", catalog.ClassOrder: 1, catalog.ClassEqual: true, catalog.ClassList: "x", catalog.ClassPath: "x"}[c]
	switch op.Takes {
	case catalog.ListValues:
		return []any{value}
	case catalog.TwoValues:
		return []any{value, value}
	case catalog.Flag:
		return true
	case catalog.PartOfText, catalog.SearchText:
		return "x"
	case catalog.ListTexts:
		return []any{"x"}
	case catalog.Length:
		return 1
	case catalog.PathObject:
		return map[string]any{"[0]": "x"}
	case catalog.OneFilter:
		return map[string]any{}
	case catalog.ListFilter:
		return []any{map[string]any{}}
	}
	if c == catalog.ClassList && op.Name != "$has" { // as a whole compared with null only
		return nil
	}
	return value
}

// filterCase is a filter, and whether the vocabulary says that there is such a thing.
type filterCase struct {
	Filter map[string]any
	Fits   bool
}

// filterCases are filters with each operator in each place, and with one that there is
// not.
func filterCases(t *testing.T, todo *catalog.Resource) []filterCase {
	t.Helper()
	operators := append(slices.Collect(catalog.FilterOperators()), catalog.FilterOperator{Name: "$made"})
	var out []filterCase
	for name, class := range map[string]catalog.FieldClass{
		"title": catalog.ClassText, "views": catalog.ClassOrder, "completed": catalog.ClassEqual, "tags": catalog.ClassList,
	} {
		require.Equal(t, class, todo.Field(name).Class(), name)
		for _, op := range operators {
			fits := slices.Contains(class.Operators(), op.Name)
			out = append(out, filterCase{map[string]any{name: map[string]any{op.Name: operand(class, op)}}, fits})
		}
	}
	for _, op := range operators {
		known := op.Name != "$made"
		at := func(edge string) map[string]any {
			return map[string]any{edge: map[string]any{op.Name: operand(0, op)}}
		}
		out = append(out,
			filterCase{map[string]any{op.Name: operand(0, op)}, known && op.Place == catalog.InFilter},
			filterCase{at("labels"), known && (op.Place == catalog.AtMany || op.Place == catalog.AtEdge)},
			filterCase{at("assignedUser"), known && (op.Place == catalog.AtEdge || op.Place == catalog.InFilter)})
	}
	return out
}

// What the vocabulary says of an operator is what a run takes and what validate lets
// through.
func TestOperatorsFitWhereTheVocabularySays(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	cases := filterCases(t, view(k).Resource("Todo"))
	var ran []string
	k.Run(`SDK.args.map(({Filter}) => { try { SDK.Entities.Todo.count(Filter); return "" } catch (e) { return e.code } })`, koantest.Input{Args: cases}).ResultInto(&ran)
	for i, c := range cases {
		filter, err := json.Marshal(c.Filter)
		require.NoError(t, err)
		code := "invalid_payload"
		if c.Fits {
			code = ""
		}
		require.Equal(t, code, ran[i], "%s", filter)
		require.Equal(t, c.Fits, validated(t, k, fmt.Sprintf("SDK.Entities.Todo.count(%s)", filter)).Valid, "%s", filter)
	}
	for op := range catalog.FilterOperators() { // at a path, whose type only the run knows
		filter := map[string]any{"tags": map[string]any{"$path": map[string]any{"[0]": map[string]any{op.Name: operand(catalog.ClassPath, op)}}}}
		r := k.Try(`SDK.Entities.Todo.count(SDK.args)`, koantest.Input{Args: filter})
		require.Equal(t, slices.Contains(catalog.ClassPath.Operators(), op.Name), r.Success, "%s: %+v", op.Name, r.Error)
	}
}

// listedNames returns the names that a list of tools has behind a prefix.
func listedNames(t *testing.T, v *catalog.View, style, prefix string) []string {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal(koantest.Tools(v, style), &list))
	var names []string
	for _, tool := range list.Tools {
		if name, ok := strings.CutPrefix(tool.Name, prefix); ok && name != "describe" {
			names = append(names, name)
		}
	}
	return names
}

// Todo can do all that entities can: it is versioned, searchable, and has relationships.
func TestEveryProjectionNamesTheOperationsOfEntities(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	v := view(k)
	operations, methods := catalog.EntityOperationNames(), []string{}
	_, types, _ := strings.Cut(declarations(t, v), "declare namespace SDK {")
	pages := reference(t, "operations.md")
	for op := range catalog.EntityOperations() {
		offered := v.Operation(catalog.EntityID("Todo", op.Name))
		require.NotNil(t, offered, op.Name)
		require.Equal(t, op.Effects, offered.Effects, op.Name)
		var schema, output struct {
			Required   []string
			Properties map[string]json.RawMessage
		}
		require.NoError(t, json.Unmarshal(offered.Input, &schema))
		require.NoError(t, json.Unmarshal(offered.Output, &output))
		require.ElementsMatch(t, op.Inputs(), slices.Collect(maps.Keys(schema.Properties)), op.Name)
		if required := op.Arguments; !op.Optional {
			require.ElementsMatch(t, required, schema.Required, op.Name)
		}
		if op.Output != "" {
			require.Contains(t, output.Properties, op.Output, op.Name)
		}
		require.Contains(t, pages, "| `"+op.Name+"` |")
		for _, m := range op.Methods {
			methods = append(methods, m.Name)
			found := regexp.MustCompile(`[ "]` + m.Name + `"?[<(](.*)`).FindStringSubmatch(types)
			require.NotNil(t, found, m.Name)
			declared := found[1]
			for _, name := range append(slices.Clone(op.Arguments), m.Leading...) {
				require.Regexp(t, `\b`+name+`\??: `, declared, m.Name)
			}
			if op.Name == "collection" {
				_, declared, _ = strings.Cut(types, "interface Query<")
				declared, _, _ = strings.Cut(declared, "\n")
			}
			for _, name := range op.Options {
				require.Contains(t, declared, " "+name+"?: ", m.Name)
			}
		}
	}
	require.ElementsMatch(t, operations, v.Resource("Todo").Operations)
	require.ElementsMatch(t, operations, listedNames(t, v, "perEntity", "todo_"))
	require.ElementsMatch(t, operations, listedNames(t, v, "generic", "entities_"))
	var bound []string
	k.Run(`Object.getOwnPropertyNames(SDK.Entities.Todo)`, koantest.Input{}).ResultInto(&bound)
	require.ElementsMatch(t, methods, bound)
}

// What a method takes is the same for scripts and for validate.
func TestMethodsTakeWhatTheVocabularySays(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	for op := range catalog.EntityOperations() {
		for _, m := range op.Methods {
			args := []string{}
			for range len(m.Leading) + len(op.Arguments) {
				args = append(args, "SDK.args.x")
			}
			call := func(option string) string {
				return "SDK.Entities.Todo." + m.Name + "(" + strings.Join(append(args, "{"+option+": SDK.args.x}"), ", ") + ")"
			}
			var length int
			k.Run("SDK.Entities.Todo."+m.Name+".length", koantest.Input{}).ResultInto(&length)
			require.Equal(t, len(args)+1, length, m.Name)
			for _, option := range op.Options {
				require.Empty(t, validated(t, k, call(option)).Diagnostics, call(option))
			}
			require.False(t, validated(t, k, call("made")).Valid, m.Name)
			script := call("made")
			if m.Returns == catalog.ReturnsIterator { // which calls when it is read
				script += ".toArray()"
			}
			r := k.Try(script, koantest.Input{Args: map[string]any{"x": 1}})
			require.False(t, r.Success, script)
			require.Equal(t, fault.InvalidPayload, r.Error.Code, m.Name)
			require.Contains(t, string(encoded(t, r.Error)), `unknown input \"made\"`, m.Name)
		}
	}
	require.False(t, validated(t, k, "SDK.Entities.Todo.made()").Valid)
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}
