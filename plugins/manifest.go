package plugins

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
	"github.com/koan-go/koan/plugins/internal/plain"
	"github.com/koan-go/koan/plugins/internal/schemasize"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// refusal is why a plugin is rejected permanently: it is not started again.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// configurationError is a mistake in the app's configuration of a plugin: it
// ends the app's start.
type configurationError struct {
	why string
	// again says that a plugin which ran before is started again: what is wrong is beside the
	// configuration.
	again bool
}

func (c *configurationError) Error() string { return c.why }

// checkManifest returns all problems of a manifest.
func checkManifest(name string, m *wire.Manifest) error {
	var problems []string
	switch n, size := len(m.GetFunctions()), proto.Size(m); {
	case n > wire.MaxFunctions:
		return &refusal{fmt.Sprintf("refused: it has %d functions; %d are allowed", n, wire.MaxFunctions)}
	case size > wire.MaxManifestBytes:
		return &refusal{fmt.Sprintf("refused: its description has %d bytes; %d are allowed", size, wire.MaxManifestBytes)}
	}
	for _, code := range m.GetFaultCodes() {
		if !wire.ValidFaultCode(code) {
			problems = append(problems, fmt.Sprintf("the fault code %q is not in snake_case, or is one of the app's own", bounded(code, 64)))
		}
	}
	problems = append(problems, needProblems(m)...)
	problems = append(problems, metricProblems(m)...)
	if m.GetContractVersion() != wire.ContractVersion {
		problems = append(problems, fmt.Sprintf("it speaks contract version %d, this app speaks %d", m.GetContractVersion(), wire.ContractVersion))
	}
	if m.GetDomain() != name {
		problems = append(problems, fmt.Sprintf("its domain is %q, but its file is named %q", m.GetDomain(), name))
	}
	if len(m.GetFunctions()) == 0 {
		problems = append(problems, "it has no functions")
	}
	seen := map[string]bool{}
	for _, f := range m.GetFunctions() {
		fn := f.GetName()
		if !validName(fn) {
			problems = append(problems, fmt.Sprintf("the function name %q is not lower-case kebab", fn))
		}
		if seen[fn] {
			problems = append(problems, fmt.Sprintf("the function %q is declared twice", fn))
		}
		seen[fn] = true
		problems = append(problems, schemaProblems(f)...)
		if f.GetTimeoutMs() < 0 || f.GetTimeoutMs() > maxTimeout.Milliseconds() {
			problems = append(problems, fmt.Sprintf("the timeout of %q is negative, or more than %s", fn, maxTimeout))
		}
	}
	return refuse(problems)
}

// refuse returns the refusal of a plugin with problems, which are told as far as a person reads them; nil without any.
func refuse(problems []string) error {
	const most, longest = 20, 500
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	more := len(problems) - most
	for i := range problems {
		problems[i] = bounded(problems[i], longest)
	}
	if more > 0 {
		problems = append(problems[:most], fmt.Sprintf("and %d more", more))
	}
	return &refusal{"refused: " + strings.Join(problems, "; ")}
}

// schemaProblems returns the problems of a function's schemas, and of its example by the
// schema of its input.
func schemaProblems(f *wire.Function) []string {
	var problems []string
	var schemas schema.Cache
	for what, raw := range map[string][]byte{"input": f.GetInputSchema(), "output": f.GetOutputSchema()} {
		if err := objectSchema(&schemas, raw); err != nil {
			problems = append(problems, fmt.Sprintf("the %s schema of %q: %v", what, f.GetName(), err))
		}
	}
	switch example := f.GetExample(); {
	case len(example) == 0:
		return problems
	case !json.Valid(example):
		return append(problems, fmt.Sprintf("the example of %q is not JSON", f.GetName()))
	case len(problems) > 0:
		return problems
	}
	if err := schema.Check(f.GetInputSchema(), f.GetExample()); err != nil {
		return []string{fmt.Sprintf("the example of %q does not fit its input schema: %s", f.GetName(), fault.From(err).Message)}
	}
	return nil
}

func objectSchema(schemas *schema.Cache, raw []byte) error {
	if why := schemasize.Beyond(raw, wire.MaxSchemaBytes); why != "" {
		return errors.New(why)
	}
	var s struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	if s.Type != "object" {
		return fmt.Errorf("its type is %q, not \"object\"", s.Type)
	}
	if err := schemas.Compile(raw); err != nil {
		return errors.New(oneLine(err))
	}
	return nil
}

// sameManifest reports whether the operations would be the same.
func sameManifest(a, b *wire.Manifest) bool { return proto.Equal(a, b) }

// Bounds of a plugin's description of itself, in bytes.
const (
	maxDescription = 500
	maxVersion     = 64
	maxTitle       = 200 // of a function, as the next one
	maxSummary     = 2 << 10
)

// maxTimeout is how long a function may say that a call of it takes.
const maxTimeout = 24 * time.Hour

// ownerOf returns the description of the plugin in a manifest.
func ownerOf(m *wire.Manifest) *catalog.Owner {
	line := func(s string, n int) string { return bounded(plain.Line(s), n) }
	return &catalog.Owner{
		Kind: catalog.KindPlugin, Name: m.GetDomain(), Description: line(m.GetDescription(), maxDescription), Version: line(m.GetVersion(), maxVersion),
	}
}

// effectsOf returns the effects that a function declares.
func effectsOf(f *wire.Function) catalog.Effects {
	e := f.GetEffects()
	return catalog.Effects{ReadOnly: e.GetReadOnly(), Destructive: e.GetDestructive(), Idempotent: e.GetIdempotent(), Outside: e.GetOutside()}
}

// declaredBy returns what a plugin declares of a function beside the operation's own fields.
func declaredBy(f *wire.Function) map[string]json.RawMessage {
	effects, _ := json.Marshal(effectsOf(f)) // booleans
	scopes, _ := json.Marshal(f.GetScopes()) // texts
	return map[string]json.RawMessage{"outputSchema": compact(f.GetOutputSchema()), "scopes": scopes, "declared effects": effects}
}

// operationsOf turns the functions of a manifest that are offered into operations. What the
// operator says of them goes before what the plugin says.
func operationsOf(p *plugin, m *wire.Manifest) []*catalog.Operation {
	var ops []*catalog.Operation
	for _, f := range m.GetFunctions() {
		if !p.configured.Offers(f.GetName()) {
			continue
		}
		op := &catalog.Operation{
			ID: catalog.PluginID(m.GetDomain(), f.GetName()),
			Contract: catalog.Contract{
				Input:    compact(f.GetInputSchema()),
				Output:   compact(f.GetOutputSchema()),
				Effects:  p.configured.EffectsOf(f.GetName(), func() catalog.Effects { return effectsOf(f) }),
				Declared: declaredBy(f), Untrusted: !p.configured.Trust,
				Scopes: f.GetScopes(),
			},
			Listing: catalog.Listing{
				Title:   bounded(f.GetTitle(), maxTitle),
				Summary: bounded(f.GetSummary(), maxSummary),
				Reach:   catalog.Everywhere,
			},
			Work: catalog.Work{
				Timeout: cmp.Or(p.configured.Timeout, time.Duration(f.GetTimeoutMs())*time.Millisecond),
			},
		}
		if p.configured.callsBack(m) {
			op.Converses, op.Rights = true, &catalog.Rights{Declared: true}
		}
		if len(f.GetExample()) > 0 {
			op.Example = f.GetExample()
		}
		op.Handler = withMedia(p, op)
		ops = append(ops, op)
	}
	return ops
}

// changedFunctions returns the functions that were offered before and are not what they were,
// each with what of it is different.
func changedFunctions(was, is []*catalog.Operation) (out []string) {
	for _, after := range is {
		i := slices.IndexFunc(was, func(op *catalog.Operation) bool { return op.ID == after.ID })
		if i < 0 {
			continue
		}
		before, parts := was[i], []string{}
		for part, same := range map[string]bool{
			"effects": before.Effects == after.Effects, "scopes": slices.Equal(before.Scopes, after.Scopes),
			"input schema": bytes.Equal(before.Input, after.Input), "output schema": bytes.Equal(before.Output, after.Output),
		} {
			if !same {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			slices.Sort(parts)
			out = append(out, after.ID.Op+" ("+strings.Join(parts, ", ")+")")
		}
	}
	return out
}

func compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw // checkManifest has seen that it is JSON
	}
	return b.Bytes()
}
