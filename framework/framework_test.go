package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

// part is a provider of one echoing operation that notes its life.
type part struct {
	name  string
	kind  catalog.Kind
	fails bool
	life  *[]string
	host  catalog.Host
	more  bool
}

func (p *part) Name() string { return p.name }

func (p *part) Settings() []catalog.Setting {
	return []catalog.Setting{{Key: p.name + ".loud", Default: false}}
}

func (p *part) Start(_ context.Context, h catalog.Host) error {
	*p.life = append(*p.life, "start "+p.name)
	p.host = h
	if p.fails {
		return errors.New("no luck")
	}
	return nil
}

func (p *part) Stop(context.Context) error {
	*p.life = append(*p.life, "stop "+p.name)
	return nil
}

func (p *part) Warm(context.Context) { *p.life = append(*p.life, "warm "+p.name) }

func (p *part) Report(b catalog.Boot) []string { return []string{p.name + ": mode=" + b.Mode} }

func (p *part) Offer() catalog.Offer {
	op := func(name string) *catalog.Operation {
		return &catalog.Operation{
			ID:       catalog.ID{Kind: p.kind, Owner: p.name, Op: name},
			Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`)},
			Listing:  catalog.Listing{Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) { return c.Input(), nil },
			},
		}
	}
	ops := []*catalog.Operation{op("echo")}
	if p.more {
		ops = append(ops, op("more"))
	}
	return catalog.Offer{Operations: ops}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func app(life *[]string, parts ...*part) framework.App {
	a := framework.App{Name: "demo", Version: "1.0.0", Defaults: map[string]string{"codeMode.enabled": "false"}}
	for _, p := range parts {
		p.life = life
		a.Providers = append(a.Providers, p)
	}
	return a
}

func TestAppLifecycle(t *testing.T) {
	var life []string
	one, two := &part{name: "one", kind: catalog.KindPlugin}, &part{name: "two", kind: catalog.KindPlugin}
	i, err := framework.New(t.Context(), app(&life, one, two), framework.Options{Log: quiet(), Config: framework.Source{Flags: map[string]string{"one.loud": "true"}}})
	require.NoError(t, err)
	require.True(t, i.Values().Bool("one.loud"))
	require.Equal(t, []string{"one: mode=auto", "two: mode=auto", "CodeMode: enabled=false mode=auto entities=0"}, i.Report())
	var out json.RawMessage
	outcome, err := i.Invoke(t.Context(), auth.Local(), "plugin::one.echo", map[string]any{"a": 1}, &out)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(out))
	require.Len(t, outcome.Calls, 1)

	changed := 0
	i.OnChange(func() { changed++ })
	before := i.Snapshot()
	one.more = true
	one.host.Changed()
	require.Equal(t, 1, changed)
	require.NotEqual(t, before.Version(), i.Snapshot().Version())
	require.Nil(t, before.Operation(catalog.PluginID("one", "more")), "a snapshot does not change")

	require.NoError(t, i.Stop(t.Context()))
	require.NoError(t, i.Stop(t.Context()), "once")
	require.Equal(t, []string{"start one", "start two", "warm one", "warm two", "stop two", "stop one"}, life)
}

// What an embedder adds to the app of an instance is there in the next one.
func TestAppOfAnInstanceCanBeExtended(t *testing.T) {
	var life []string
	first, err := framework.New(t.Context(), app(&life, &part{name: "one", kind: catalog.KindPlugin}), framework.Options{Log: quiet()})
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))
	extended := first.App()
	extended.Providers = append(extended.Providers, &part{name: "two", kind: catalog.KindPlugin, life: &life})
	second, err := framework.New(t.Context(), extended, framework.Options{Log: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Stop(context.Background())) })
	require.NotNil(t, second.Snapshot().Operation(catalog.PluginID("two", "echo")))
}

func TestFailedStartStopsStartedProviders(t *testing.T) {
	var life []string
	_, err := framework.New(t.Context(), app(&life, &part{name: "one", kind: catalog.KindPlugin}, &part{name: "two", kind: catalog.KindPlugin, fails: true}), framework.Options{Log: quiet()})
	require.ErrorContains(t, err, "two: no luck")
	require.Equal(t, []string{"start one", "start two", "stop one"}, life)
}

func TestDuplicateOperationFailsStart(t *testing.T) {
	var life []string
	a, b := &part{name: "one", kind: catalog.KindPlugin}, &same{part{name: "other", kind: catalog.KindPlugin}}
	x := app(&life, a)
	b.life = &life
	x.Providers = append(x.Providers, b)
	_, err := framework.New(t.Context(), x, framework.Options{Log: quiet()})
	require.ErrorContains(t, err, "plugin::one.echo is offered twice")
}

// same offers what part "one" offers.
type same struct{ part }

func (s *same) Offer() catalog.Offer { return (&part{name: "one", kind: catalog.KindPlugin}).Offer() }

func TestModes(t *testing.T) {
	var life []string
	boot := func(a framework.App, flags map[string]string) (*framework.Instance, error) {
		return framework.New(t.Context(), a, framework.Options{Log: quiet(), Config: framework.Source{Flags: flags}})
	}
	_, err := boot(app(&life, &part{name: "one", kind: catalog.KindPlugin}), map[string]string{"exposure": "code"})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), "code mode is asked for and nobody has it")

	a := app(&life, &part{name: "one", kind: catalog.KindCode})
	a.Exposure = exposure.Tools
	i, err := boot(a, nil)
	require.NoError(t, err)
	require.Equal(t, exposure.Tools, i.Mode(), "the app's default, where the configuration is silent")
	require.True(t, i.Negotiated())
	i, err = boot(a, map[string]string{"exposure": "full"})
	require.NoError(t, err)
	require.Equal(t, exposure.Full, i.Mode())
	require.False(t, i.Negotiated())
}

func TestAppDefaults(t *testing.T) {
	defaults := func(values map[string]string) framework.App { return framework.App{Name: "a", Defaults: values} }
	i, err := framework.New(t.Context(), defaults(map[string]string{"run.maxAttempts": "3"}), framework.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, i.Stop(t.Context())) }()
	require.Equal(t, 3, i.Values().Int("run.maxAttempts"))
	require.PanicsWithValue(t, "framework: App.Defaults of a: configuration: default of run.attempts: there is no such key", func() {
		defaults(map[string]string{"run.attempts": "3"}).Settings()
	})
}

// early is a provider that has something new while the first catalog is being made.
type early struct {
	*part
	offered atomic.Bool
}

func (e *early) Offer() catalog.Offer {
	first := e.part.Offer()
	if e.offered.Swap(true) {
		e.more = true
		return e.part.Offer()
	}
	told := make(chan struct{})
	go func() {
		e.host.Changed()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(100 * time.Millisecond): // it waits for the catalog
	}
	return first
}

func TestChangeDuringTheFirstOfferIsNotLost(t *testing.T) {
	var life []string
	p := &early{part: &part{name: "early", kind: catalog.KindPlugin, life: &life}}
	a := app(&life)
	a.Providers = append(a.Providers, p)
	i, err := framework.New(t.Context(), a, framework.Options{Log: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = i.Stop(context.Background()) })
	require.Eventually(t, func() bool { return i.Snapshot().Operation(catalog.PluginID("early", "more")) != nil }, 10*time.Second, 5*time.Millisecond)
}
