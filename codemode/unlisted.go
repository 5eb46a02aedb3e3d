package codemode

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// unlisted are servers whose tools are not known, and why not.
type unlisted map[string]error

// names returns the servers, sorted.
func (u unlisted) names() []string { return slices.Sorted(maps.Keys(u)) }

// laterCall is a call that sees a later catalog than the one that it was made in.
type laterCall struct {
	catalog.Call
	view *catalog.View
}

func (c laterCall) View() *catalog.View { return c.view }

// awaitTools waits for the tools of servers that were never listed, each as long as its start
// may take, and returns the call with a view that has them. The view is leased until release
// is called.
func (p *provider) awaitTools(ctx context.Context, call catalog.Call, concerns func(server string) bool) (later catalog.Call, missing unlisted, release func()) {
	missing = unlisted{}
	var mu sync.Mutex
	var all sync.WaitGroup
	asked := false
	for _, op := range call.View().Script() {
		if op.Await == nil || !concerns(op.ID.Owner) {
			continue
		}
		asked = true
		all.Go(func() {
			if err := op.Await(ctx, call.Principal()); err != nil {
				mu.Lock()
				defer mu.Unlock()
				missing[op.ID.Owner] = err
			}
		})
	}
	if !asked {
		return call, missing, func() {}
	}
	all.Wait()
	v, now := call.View(), p.snapshot()
	release = now.Lease()
	return laterCall{call, now.View(call.Principal(), v.Mode(), v.Negotiated())}, missing, release
}

// everyServer is what a search concerns.
func everyServer(string) bool { return true }

// concerned returns which servers a script concerns whose tools have to be known before it
// begins: those that it imports or whose ids it has. SDK.Servers waits by itself.
func concerned(code string) func(server string) bool {
	all := sync.OnceValue(func() bool { return strings.Contains(code, wire.ModuleDiscovery) || bind.Computes(code) })
	return func(server string) bool { // most runs have no such server, and never ask
		return all() || strings.Contains(code, wire.ModuleServers+bind.ModulePart(server)) || strings.Contains(code, "::"+server+"::")
	}
}
