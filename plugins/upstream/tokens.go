package upstream

import (
	"context"

	"github.com/koan-go/koan/framework/catalog"
)

// listTokens returns about how many tokens a client reads of the server's tools if it is
// connected to the server itself.
func (s overview) listTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listing == nil {
		return 0
	}
	bytes := len(`{"tools":[]}`)
	for _, raw := range s.listing.Tools {
		bytes += len(raw) + len(",")
	}
	return catalog.EstimateTokens(bytes)
}

// reportTokens compares what a client reads of all servers' tools with what it reads of this
// app's, and says so where the app's list is the longer one.
func reportTokens(ctx context.Context, servers []*server, in *catalog.Invocation) error {
	all := 0
	for _, s := range servers {
		all += overview{s}.listTokens()
	}
	if all == 0 {
		return nil
	}
	bytes, err := in.ListBytes(ctx)
	if err != nil {
		return err
	}
	own := catalog.EstimateTokens(bytes)
	in.Out.Printf("tools/list: about %d tokens from these servers, about %d from here\n", all, own)
	in.Out.Printf("A model reads that before its first call. The list from here has the tools for scripts. It declares the servers' tools if they are few; otherwise the model looks up those that it needs.\n")
	if own > all {
		in.Out.Printf("For so few tools it costs about %d tokens more than theirs. It saves tokens where one script replaces several calls, or keeps long results out of the model's context. With one toolset (codeMode.faces) it is shorter.\n", own-all)
	}
	return nil
}
