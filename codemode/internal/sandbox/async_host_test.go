package sandbox

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// started holds the calls that a todoHost serves concurrently with the script, in the order
// in which they end.
type started struct {
	mu    sync.Mutex
	ended []endedCall
	wake  chan struct{}
	open  int
	most  int // how many were open at once
}

type endedCall struct {
	ref uint32
	out json.RawMessage
	now int64
	err error
}

func (h *todoHost) Start(ctx context.Context, ref uint32, id string, in json.RawMessage) {
	s := &h.started
	s.mu.Lock()
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	s.open++
	s.most = max(s.most, s.open)
	s.mu.Unlock()
	go func() {
		out, now, err := h.Call(ctx, id, in)
		s.mu.Lock()
		s.open--
		s.ended = append(s.ended, endedCall{ref, out, now, err})
		s.mu.Unlock()
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}()
}

func (h *todoHost) Next(ctx context.Context, most time.Duration) (uint32, json.RawMessage, int64, error) {
	s := &h.started
	var late <-chan time.Time
	if most >= 0 {
		late = time.After(most)
	}
	for {
		s.mu.Lock()
		if len(s.ended) > 0 {
			e := s.ended[0]
			s.ended = s.ended[1:]
			s.mu.Unlock()
			return e.ref, e.out, e.now, e.err
		}
		s.mu.Unlock()
		select {
		case <-s.wake:
		case <-late:
			return 0, nil, 0, nil
		case <-ctx.Done():
			return 0, nil, 0, ctx.Err()
		}
	}
}
