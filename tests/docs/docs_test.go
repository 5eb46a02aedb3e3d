// Package docs keeps the generated pages of docs/reference true: it makes them
// anew and compares. `go test ./tests/docs -update` writes them.
package docs

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
)

var (
	update = flag.Bool("update", false, "write the generated pages anew")
	folder = flag.String("reference", "../../docs/reference", "where the generated pages are")
)

func page(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(*folder, name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "docs/reference/%s is stale: go test ./tests/docs -update", name)
}

func TestFaults(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Faults\n\nGenerated from `framework/fault`. Every failure has a code, a message, a hint and a retry class: `safe` (the same call may\nsucceed later), `fix` (change the call first), `never`. Quotas and limits end the run even when the script catches them.\n\n")
	b.WriteString("| code | meaning | what to do | retry | ends the run | class in `@codemode/errors` |\n|---|---|---|---|---|---|\n")
	for _, e := range fault.Entries() {
		ends := ""
		if e.EndsRun {
			ends = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", e.Code, e.Meaning, e.Hint, e.Retry, ends, e.Class)
	}
	page(t, "faults.md", b.String())
}

// returns says what a method returns.
var returns = map[catalog.Returned]string{
	catalog.ReturnsPage: "a page", catalog.ReturnsIterator: "an iterator over entities", catalog.ReturnsList: "an array of entities",
	catalog.ReturnsEntity: "the entity", catalog.ReturnsEntityOrNull: "the entity, or null", catalog.ReturnsModel: "a model, not stored",
	catalog.ReturnsNumber: "a number", catalog.ReturnsRows: "an array of rows",
}

func TestOperations(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Operations of entities\n\nGenerated from `framework/catalog`. Each operation is a tool (`todo.get-by-id`) and one or several methods of the SDK. A tool takes one\nobject with all inputs. A method takes the members before the braces by position and the rest as options; a string in their place is the\nset. An entity's schema decides which of them it has: `q` needs searchable fields, `with` relationships, `ifVersion` a version.\n\n")
	b.WriteString("| operation | input: required | input: optional | output | effects |\n|---|---|---|---|---|\n")
	for op := range catalog.EntityOperations() {
		required, optional := op.Arguments, op.Options
		if op.Optional {
			required, optional = nil, op.Inputs()
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", op.Name, code(required), code(optional), output(op), effects(op))
	}
	b.WriteString("\n| method | returns |\n|---|---|\n")
	for op := range catalog.EntityOperations() {
		for _, m := range op.Methods {
			fmt.Fprintf(&b, "| `%s` | %s |\n", catalog.MethodUsage(m.Name), returns[m.Returns])
		}
	}
	b.WriteString("\n## Operators of filters\n\n[Filters](filter.md) says what they match.\n\n| operator | takes | at |\n|---|---|---|\n")
	for op := range catalog.FilterOperators() {
		at := places[op.Place]
		if op.Place == catalog.AtField {
			var fits []string
			for _, c := range op.Classes {
				fits = append(fits, classes[catalog.FieldClass(c)])
			}
			at = strings.Join(fits, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", op.Name, operands[op.Takes], at)
	}
	page(t, "operations.md", b.String())
}

func TestRoutes(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Routes of REST\n\nGenerated from `framework/catalog`. ENTITY and the names of actions and plugins are in kebab case. [How to call them](../howto/rest.md).\n\n")
	b.WriteString("| route | operation | query parameters | body |\n|---|---|---|---|\n")
	for op := range catalog.EntityOperations() {
		for _, r := range op.Routes {
			path, parameters, body := "/api/ENTITY", "", ""
			switch {
			case r.Item:
				path += "/ID"
			case r.Suffix != "":
				path += ":" + r.Suffix
			}
			switch {
			case r.Suffix != "":
				body = "the operation's input"
			case op.Access.Writes():
				parameters, body = "`set`", code(slices.DeleteFunc([]string{r.Body}, func(s string) bool { return s == "" }))
			default:
				parameters = code(op.Options)
			}
			name := op.Name
			if r.Replace {
				name += ", replace"
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s |\n", r.Method, path, name, parameters, body)
		}
	}
	for _, r := range [][2]string{
		{"POST /api/actions/NAME", "an action"}, {"POST /api/plugins/DOMAIN/FUNCTION", "a plugin's function"}, {"POST /tools/NAME", "any tool, in the envelope"},
	} {
		fmt.Fprintf(&b, "| `%s` | %s |  | its input |\n", r[0], r[1])
	}
	b.WriteString("| `POST /api/files` | [keeps a file](../howto/files.md) | `name` `set` | the file |\n| `GET /api/files/ID` | a file |  |  |\n")
	b.WriteString("| `GET /api/events` | [committed changes](../howto/live.md) as events | `entity` `set` `filter` `lastEventId` |  |\n")
	for _, r := range [][2]string{
		{"GET /health", "whether the server answers"},
		{"GET /status", "whether calls can be served"},
		{"GET /status/stream", "the same as events"},
		{"GET /api/console/...", "runs, plans and what [the console](../howto/console.md#what-it-calls) needs"},
		{"GET /openapi.json", "OpenAPI 3.1 of what the caller may see"},
		{"GET /docs", "a page of it"},
	} {
		fmt.Fprintf(&b, "| `%s` | %s |  |  |\n", r[0], r[1])
	}
	b.WriteString("\nID is one step of the path, percent-encoded, its slashes too. An `Idempotency-Key` is one job of its caller's, whatever the route: under the key of another\n" +
		"one a request is [`conflict`](../howto/once.md#calls-over-rest). `rel=\"next\"` of `Link` has the number of the next page, or a cursor where the page was cut at 4 MiB.\n")
	page(t, "rest.md", b.String())
}

// What operators take, and where they stand.
var (
	operands = map[catalog.Operand]string{
		catalog.OneValue: "a value", catalog.ListValues: "a list of values", catalog.TwoValues: "the lowest and the highest value", catalog.Flag: "`true` or `false`",
		catalog.PartOfText: "a string", catalog.ListTexts: "a list of strings", catalog.Length: "an integer from 0", catalog.PathObject: "an object: a value or operators for each path",
		catalog.OneFilter: "a filter", catalog.ListFilter: "a list of filters", catalog.SearchText: "words",
	}
	places = map[catalog.OperatorPlace]string{catalog.InFilter: "the filter itself", catalog.AtMany: "relationships to many", catalog.AtEdge: "relationships"}
	// classes are those of fields.
	classes = map[catalog.FieldClass]string{
		catalog.ClassText: "texts", catalog.ClassOrder: "numbers, times", catalog.ClassEqual: "other plain values", catalog.ClassJSON: "JSON",
		catalog.ClassList: "JSON lists", catalog.ClassWhole: "what is compared with null only", catalog.ClassPath: "values at a path",
	}
)

func code(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "` `") + "`"
}

// output says what a tool answers with.
func output(op catalog.EntityOperation) string {
	what := returns[op.Methods[0].Returns]
	if op.Output != "" {
		return "`{" + op.Output + "}`: " + what
	}
	return what
}

func effects(op catalog.EntityOperation) string {
	var out []string
	for _, e := range []struct {
		name  string
		holds bool
	}{{"read-only", op.Effects.ReadOnly}, {"destructive", op.Effects.Destructive}, {"idempotent", op.Effects.Idempotent}} {
		if e.holds {
			out = append(out, e.name)
		}
	}
	return strings.Join(out, ", ")
}

func TestConfiguration(t *testing.T) {
	settings := fixture.App().Settings()
	sort.Slice(settings, func(i, j int) bool { return settings[i].Key < settings[j].Key })
	var b bytes.Buffer
	b.WriteString("# Configuration\n\nGenerated from the settings that the core and the bundled providers declare. Later sources win: default, file (`--config`, or\n`koan.yaml` in the working directory), environment (`KOAN_A_B` for `a.b`), flags (`--a.b value`). With an unknown key of a known section\nor a value out of range the start fails, and names every problem.\n\nA server that runs reads the configuration again when it gets `SIGHUP` or one of its files changes. Keys marked `live` take effect at\nonce; a changed key without the mark waits for the next start, and the log says so.\nOn `SIGHUP` `koan serve --database` also looks at the tables of its database again.\n\n")
	writeSettings(&b, settings)
	common := map[string]bool{}
	for _, s := range settings {
		common[s.Key] = true
	}
	own := fixture.App()
	own.Entities = ent.Entities()
	own.Open = func(context.Context, string) (dialect.Driver, error) { return nil, nil }
	b.WriteString("\nAn app that [opens its databases itself](../howto/existing-project.md) has no keys `database`, `migrations` and `sets`, but has:\n\n")
	writeSettings(&b, slices.DeleteFunc(own.Settings(), func(s catalog.Setting) bool { return common[s.Key] }))
	page(t, "configuration.md", b.String())
}

// writeSettings writes the table of some settings.
func writeSettings(b *bytes.Buffer, settings []catalog.Setting) {
	b.WriteString("| key | default | range | | |\n|---|---|---|---|---|\n")
	for _, s := range settings {
		def, limits := fmt.Sprintf("`%v`", s.Default), ""
		if list, ok := s.Default.([]string); ok {
			def = "`" + strings.Join(list, ", ") + "`"
		}
		if s.Default == "" {
			def = ""
		}
		if s.Open {
			def, limits = "", "any keys below"
		}
		if s.Min != 0 || s.Max != 0 {
			limits = fmt.Sprintf("%d to %d %s", s.Min, s.Max, s.Unit)
		}
		if len(s.OneOf) > 0 {
			limits = strings.Join(s.OneOf, ", ")
		}
		live := ""
		if s.Live {
			live = "live"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", s.Key, def, strings.TrimSpace(limits), live, s.Help)
	}
}

// Every member of an annotation has its row, with an example.
func TestAnnotations(t *testing.T) {
	raw, err := os.ReadFile("../../docs/reference/annotations.md")
	require.NoError(t, err)
	for _, annotation := range []any{expose.Entity{}, expose.Field{}, expose.Edge{}} {
		typ := reflect.TypeOf(annotation)
		_, section, ok := strings.Cut(string(raw), "\n## expose."+typ.Name())
		require.True(t, ok, typ.Name())
		section, _, _ = strings.Cut(section, "\n## ")
		for i := range typ.NumField() {
			row := regexp.MustCompile("(?m)^\\| `(\\w+`, `)?" + typ.Field(i).Name + "`(, `\\w+`)? \\| `.+` \\| .+ \\|$")
			require.Regexp(t, row, section, "%s.%s", typ.Name(), typ.Field(i).Name)
		}
	}
}

// The Go of the pages is Go.
func TestSnippets(t *testing.T) {
	for _, name := range []string{"reference/annotations.md", "howto/rules.md"} {
		raw, err := os.ReadFile("../../docs/" + name)
		require.NoError(t, err)
		parts := strings.Split(string(raw), "```")
		require.Greater(t, len(parts), 2, name)
		for i := 1; i < len(parts); i += 2 {
			if strings.HasPrefix(parts[i], "sql\n") {
				continue
			}
			code, ok := strings.CutPrefix(parts[i], "go\n")
			require.True(t, ok, "%s: %s", name, parts[i])
			formatted, err := format.Source([]byte(code))
			require.NoError(t, err, "%s: %s", name, code)
			require.Equal(t, code, string(formatted), name)
		}
	}
}

// Pages for contributors name files and folders that exist.
func TestNamedPathsExist(t *testing.T) {
	path := regexp.MustCompile("`((?:cmd|framework|entities|plugins|codemode|tests|sample-pantrypal|docs)/[A-Za-z0-9_./-]+)`")
	for _, page := range []string{"CONTRIBUTING.md", "SECURITY.md", "architecture.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err)
		found := path.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, found, page)
		for _, m := range found {
			_, err := os.Stat("../../" + m[1])
			require.NoError(t, err, "%s names %s", page, m[1])
		}
	}
}
