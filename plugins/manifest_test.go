package plugins

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/framework/catalog"
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
		_, err := catalog.NewSnapshot(catalog.Offer{Operations: operationsOf(&plugin{configured: newConfiguration()}, &m)})
		require.NoError(t, err)
	})
}
