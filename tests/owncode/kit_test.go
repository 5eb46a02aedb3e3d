// Package owncode tests what an app's Go code does beside the calls that it makes: through ent's
// clients, in actions, hooks, jobs and outside of all runs, over both databases.
package owncode

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// shop is an app whose code keeps the base client of each set, as an existing project does.
type shop struct {
	*koantest.Kit
	t *testing.T

	mu      sync.Mutex
	clients map[string]*ent.Client
}

// base returns the base client of a set.
func (s *shop) base(set string) *ent.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotNil(s.t, s.clients[set], "the set %s is not open", set)
	return s.clients[set]
}

type nothing struct{}

// open starts the fixture app with one action, "work", that does what work does, and with hooks.
func open(t *testing.T, work func(ctx context.Context, s *shop, call framework.Call) error, hooks ...func(s *shop, c *ent.Client)) *shop {
	t.Helper()
	return start(t, work, hooks)
}

// openWith is open with other settings.
func openWith(t *testing.T, work func(ctx context.Context, s *shop, call framework.Call) error, settings ...koantest.Setting) *shop {
	t.Helper()
	return start(t, work, nil, settings...)
}

func start(t *testing.T, work func(ctx context.Context, s *shop, call framework.Call) error, hooks []func(s *shop, c *ent.Client), more ...koantest.Setting) *shop {
	t.Helper()
	s := &shop{t: t, clients: map[string]*ent.Client{}}
	app := fixture.App()
	app.Entities = ent.Entities(ent.OnClient(func(set string, c *ent.Client) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clients[set] = c
		for _, hook := range hooks {
			hook(s, c)
		}
	}))
	app.GoActions = []framework.GoAction{framework.Action("work", "Does what the test says.", func(ctx context.Context, call framework.Call, _ nothing) (nothing, error) {
		return nothing{}, work(ctx, s, call)
	})}
	settings := append([]koantest.Setting{{Key: "journal.enabled", Value: "true"}}, more...)
	if pgtest.Here(t) {
		settings = append(settings, koantest.Setting{Key: "database", Value: pgtest.Place(t)})
	}
	s.Kit = koantest.NewConfined(t, app, settings...)
	return s
}

// titles returns the titles of all todos of a set, in their order.
func (s *shop) titles(set string) []string {
	s.t.Helper()
	raw, err := s.Call("koan::Todo.collection", map[string]any{"set": set, "sort": "title"})
	require.NoError(s.t, err)
	var page struct{ Items []struct{ Title string } }
	require.NoError(s.t, json.Unmarshal(raw, &page))
	out := []string{}
	for _, item := range page.Items {
		out = append(out, item.Title)
	}
	return out
}
