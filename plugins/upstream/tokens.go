package upstream

import (
	"context"

	"github.com/koan-go/koan/framework/catalog"
)

// listTokens returns about how many tokens a client reads of the server's tools if it is
// connected to the server itself.
func (s *server) listTokens() int {
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
// app's.
func reportTokens(ctx context.Context, servers []*server, in *catalog.Invocation) error {
	all := 0
	for _, s := range servers {
		all += s.listTokens()
	}
	if all == 0 {
		return nil
	}
	own, err := in.ListBytes(ctx)
	if err != nil {
		return err
	}
	in.Out.Printf("tools/list: about %d tokens from these servers, about %d from here\n", all, catalog.EstimateTokens(own))
	return nil
}
