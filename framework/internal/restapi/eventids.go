package restapi

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/koan-go/koan/framework/seal"
)

// eventIDs makes the ids of events of the positions at which streams stand. Positions count every
// commit, and a reader must not learn how many hidden ones there are.
type eventIDs struct {
	of   *seal.Sealer
	seal *seal.Stable
}

// eventIDs returns them, or a fault where their secret cannot be read now. It is kept with the data, so
// that a stream goes on at another server, or after a restart.
func (h *Handler) eventIDs(ctx context.Context) (*eventIDs, error) {
	s, err := h.opts.Tags(ctx)
	if err != nil {
		return nil, err
	}
	if made := h.ids.Load(); made != nil && made.of == s {
		return made, nil
	}
	made := &eventIDs{s, s.Stable("event id")}
	h.ids.Store(made)
	return made, nil
}

const (
	idLength  = 64 // positions of many lengths have ids of one length
	idPadding = "                                                                "
)

// write returns the id of a position.
func (e *eventIDs) write(position string) string {
	return e.seal.Seal([]byte(position + idPadding[:(idLength-len(position)%idLength)%idLength]))
}

// vary returns another id of a position each time.
func (e *eventIDs) vary(position string) string {
	filler := rand.Text()
	return e.seal.Seal([]byte(position + " " + filler + idPadding[:(2*idLength-(len(position)+1+len(filler))%idLength)%idLength]))
}

// read returns the position of an id. Any other text is returned as it is: an id of an earlier version
// is the position, and the stream refuses what is none.
func (e *eventIDs) read(id string) string {
	if content, ok := e.seal.Open(id); ok {
		position, _, _ := strings.Cut(string(content), " ")
		return position
	}
	return id
}
