package ask

import (
	"context"
	"sync"
)

// Session is what lasts as long as a client stays connected. It is forgotten with the
// connection. It is safe for concurrent use.
type Session struct {
	mu     sync.Mutex
	values map[any]any
}

// Value returns the session's value for a key, which create makes the first time. Keys are
// of types that their package does not export.
func (s *Session) Value(key any, create func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	if !ok {
		if s.values == nil {
			s.values = map[any]any{}
		}
		v = create()
		s.values[key] = v
	}
	return v
}

type sessionKey struct{}

// WithSession puts the session of the client that made a call into its context.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionOf returns the session of the client that made the call, nil if its requests have
// none.
func SessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}
