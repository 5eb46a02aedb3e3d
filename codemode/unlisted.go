package codemode

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/koan-go/koan/codemode/internal/language"
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

// toolLists waits for the tools of servers that a call needs to know.
type toolLists struct {
	snapshot func() *catalog.Snapshot // the catalog as it is now
}

// await waits for the tools of servers that were never listed, each as long as its start
// may take, and for those of others that are only remembered from an earlier start, or that are known to
// have changed, and returns the call with a view that has them. concerns says of which of the former that is
// needed, names selects those of the others; nil selects none. The view is leased until release is called.
func (l toolLists) await(ctx context.Context, call catalog.Call, concerns func(server string) bool, names func(servers []string) []string) (later catalog.Call, missing unlisted, release func()) {
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
	if names != nil {
		remembered := rememberedServers(call.View())
		for _, server := range names(slices.Sorted(maps.Keys(remembered))) {
			wait := remembered[server].Unchecked()
			if wait != nil {
				all.Go(func() { _ = wait(ctx, call.Principal()) }) // what is known stays, then
			}
			// They may have been compared since the call was made.
			asked = asked || wait != nil || l.snapshot() != call.View().Snapshot()
		}
	}
	if !asked {
		return call, missing, func() {}
	}
	all.Wait()
	v, now := call.View(), l.snapshot()
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

// noServer is what nothing concerns that was never listed.
func noServer(string) bool { return false }

// those selects the servers of which a function is true.
func those(wanted func(server string) bool) func([]string) []string {
	return func(servers []string) []string {
		return slices.DeleteFunc(slices.Clone(servers), func(s string) bool { return !wanted(s) })
	}
}

// awaitScript waits for the tools of the servers that a script refers to: it calls or imports from them, and
// is refused for nothing that they have by now. SDK.Servers waits by itself for those that were never listed.
func (l toolLists) awaitScript(ctx context.Context, call catalog.Call, code, in string, args json.RawMessage) (later catalog.Call, missing unlisted, release func()) {
	references := sync.OnceValue(func() language.References { return sourceOf(in).References(code, args) }) // most runs have no such server
	return l.await(ctx, call,
		func(server string) bool { return references().Imports(server) },
		func(servers []string) []string {
			if len(servers) == 0 {
				return nil
			}
			return references().Names(servers)
		})
}
