package conformance

import (
	"context"

	"google.golang.org/grpc"

	"github.com/koan-go/koan/plugins/internal/memory"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// answering is the host of one call: it has files of its own alone, and no operations.
type answering struct {
	to    grpc.BidiStreamingClient[wire.HostMessage, wire.CallEvent]
	files memory.Host
}

// answer answers a question, and returns its kind, "" for none that this contract has.
func (h *answering) answer(ctx context.Context, q *wire.Question) (kind string) {
	kind, a := h.files.Answer(ctx, q)
	_ = h.to.Send(&wire.HostMessage{Message: &wire.HostMessage_Answer{Answer: a}}) // an ended call needs none
	return kind
}
