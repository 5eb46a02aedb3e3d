package plugins

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/lock"
	"github.com/koan-go/koan/plugins/internal/wire"
)

func manifest(change func(*wire.Manifest)) *wire.Manifest {
	m := &wire.Manifest{ContractVersion: wire.ContractVersion, Domain: "echo", Version: "1", Functions: []*wire.Function{
		{Name: "say", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`)},
	}}
	if change != nil {
		change(m)
	}
	return m
}

func TestCheckManifest(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkManifest("echo", manifest(nil)))
	err := checkManifest("echo", manifest(func(m *wire.Manifest) {
		m.ContractVersion, m.Domain = 9, "other"
		m.Functions = append(m.Functions, m.Functions[0], &wire.Function{Name: "No Name", InputSchema: []byte("x"), OutputSchema: []byte(`{"type":"string"}`), Example: []byte("{"), TimeoutMs: -1})
	}))
	for _, want := range []string{
		"contract version 9, this app speaks 1", `"other"`, `"say" is declared twice`, `"No Name" is not`, "input schema", "output schema", "example", "negative",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestCheckManifestCompilesSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*wire.Function)
		want   string
	}{
		"unknown type": {func(f *wire.Function) {
			f.OutputSchema = []byte(`{"type":"object","properties":{"a":{"type":"strnig"}}}`)
		}, `the output schema of "say": `},
		"dangling":       {func(f *wire.Function) { f.InputSchema = []byte(`{"type":"object","$ref":"#/$defs/none"}`) }, `the input schema of "say": `},
		"another host's": {func(f *wire.Function) { f.OutputSchema = []byte(`{"type":"object","$ref":"https://example.org/x"}`) }, `the output schema of "say": `},
		"example that is wrong": {func(f *wire.Function) {
			f.InputSchema, f.Example = []byte(`{"type":"object","required":["a"]}`), []byte(`{}`)
		}, `the example of "say" does not fit its input schema: "a" is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, checkManifest("echo", manifest(func(m *wire.Manifest) { c.change(m.Functions[0]) })), c.want)
		})
	}
}

// FuzzManifest: what passes the check makes a catalog; nothing panics.
func FuzzManifest(f *testing.F) {
	for _, m := range []*wire.Manifest{manifest(nil), manifest(func(m *wire.Manifest) { m.Functions[0].Name = "say-it" }), {}} {
		raw, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m wire.Manifest
		if proto.Unmarshal(raw, &m) != nil || checkManifest("echo", &m) != nil {
			return
		}
		_, err := catalog.NewSnapshot(catalog.Offer{Operations: operationsOf(&plugin{configured: newConfiguration("x", &lock.File{})}, &m)})
		require.NoError(t, err)
	})
}

// What a plugin says of itself is bounded before anything of it is used.
func TestManifestIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*wire.Manifest)
		want   string
	}{
		"functions": {func(m *wire.Manifest) {
			for n := range wire.MaxFunctions {
				m.Functions = append(m.Functions, &wire.Function{Name: fmt.Sprint("f-", n)})
			}
		}, "it has 1001 functions; 1000 are allowed"},
		"a summary": {func(m *wire.Manifest) { m.Functions[0].Summary = strings.Repeat("x", 3<<20) }, "its description has 31457"},
		"a schema": {func(m *wire.Manifest) {
			var properties []string
			for n := range 20_000 {
				properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, n))
			}
			m.Functions[0].InputSchema = []byte(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)
		}, `the input schema of "say": it has `},
		"a deep schema": {func(m *wire.Manifest) {
			m.Functions[0].OutputSchema = []byte(`{"type":"object","properties":{"a":` + strings.Repeat(`{"items":`, 300) + "{}" + strings.Repeat("}", 300) + `}}`)
		}, `the output schema of "say": it is nested more than 200 levels deep`},
		"needs":                  {func(m *wire.Manifest) { m.Needs = make([]string, 101) }, "it asks to call operations by 101 patterns; 100 are allowed"},
		"a need":                 {func(m *wire.Manifest) { m.Needs = []string{"koan::Todo.*", "code::koan.execute"} }, `the need "code::koan.execute" is not the id of an operation`},
		"a fault code":           {func(m *wire.Manifest) { m.FaultCodes = []string{"Too Loud"} }, `the fault code "Too Loud" is not in snake_case`},
		"a fault code of Koan's": {func(m *wire.Manifest) { m.FaultCodes = []string{"not_found"} }, `the fault code "not_found" is not in snake_case, or is one of the app's own`},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkManifest("echo", manifest(c.change))
			require.ErrorContains(t, err, c.want)
			require.ErrorAs(t, err, new(*refusal))
		})
	}
	long := operationsOf(&plugin{configured: newConfiguration("x", &lock.File{})}, manifest(func(m *wire.Manifest) {
		m.Functions[0].Summary, m.Functions[0].Title = strings.Repeat("x", 10_000), strings.Repeat("y", 10_000)
	}))[0]
	require.LessOrEqual(t, len(long.Summary), maxSummary+len("…"))
	require.LessOrEqual(t, len(long.Title), maxTitle+len("…"))
}
