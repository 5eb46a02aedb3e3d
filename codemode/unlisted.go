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
// may take, and for those of others that are only remembered from an earlier start, and returns the call
// with a view that has them. Each function says which servers that is needed of. The view is leased until
// release is called.
func (p *provider) awaitTools(ctx context.Context, call catalog.Call, concerns, names func(server string) bool) (later catalog.Call, missing unlisted, release func()) {
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
	for server, owner := range rememberedServers(call.View()) {
		if !names(server) {
			continue
		}
		wait := owner.Unchecked()
		if wait != nil {
			all.Go(func() { _ = wait(ctx, call.Principal()) }) // what is remembered stays, then
		}
		// They may have been compared since the call was made.
		asked = asked || wait != nil || p.snapshot() != call.View().Snapshot()
	}
	if !asked {
		return call, missing, func() {}
	}
	all.Wait()
	v, now := call.View(), p.snapshot()
	release = now.Lease()
	return laterCall{call, now.View(call.Principal(), v.Mode(), v.Negotiated())}, missing, release
}

// rememberedServers are those whose tools may be remembered from an earlier start.
func rememberedServers(v *catalog.View) map[string]*catalog.Owner {
	out := map[string]*catalog.Owner{}
	for _, op := range v.Script() {
		if op.ID.Kind == catalog.KindUpstream && out[op.ID.Owner] == nil {
			if owner := v.Snapshot().Owner(op.ID); owner != nil && owner.Unchecked != nil {
				out[op.ID.Owner] = owner
			}
		}
	}
	return out
}

// everyServer is what a search concerns.
func everyServer(string) bool { return true }

// noServer is what is searched first: tools that are remembered are as good as any, as long as there
// are some.
func noServer(string) bool { return false }

// mentioned returns which servers a script names. It calls or imports from them, and their remembered tools
// are compared with their own before it is refused for what these do not have.
func mentioned(code string) func(server string) bool {
	return func(server string) bool {
		return strings.Contains(code, server) || strings.Contains(code, bind.ModulePart(server))
	}
}

// concerned returns which servers a script concerns whose tools have to be known before it
// begins: those that it imports or whose ids it has. SDK.Servers waits by itself.
func concerned(code string) func(server string) bool {
	all := sync.OnceValue(func() bool { return strings.Contains(code, wire.ModuleDiscovery) || bind.Computes(code) })
	return func(server string) bool { // most runs have no such server, and never ask
		return all() || strings.Contains(code, wire.ModuleServers+bind.ModulePart(server)) || strings.Contains(code, "::"+server+"::")
	}
}
