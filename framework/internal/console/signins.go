package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/seal"
)

// SignIns keeps sessions with the data, so that they outlive the process and hold on each replica. An id is the digest
// of a secret that only the browser has.
type SignIns interface {
	// Keep keeps a session, forgets those last used before since, and those unused for longest above most.
	Keep(ctx context.Context, id, content string, at, since time.Time, most int) error
	// Find returns what was kept and when it was last used; ok is false if that was before since.
	Find(ctx context.Context, id string, since time.Time) (content string, used time.Time, ok bool, err error)
	Use(ctx context.Context, id string, at time.Time) error
	End(ctx context.Context, id string) error
}

// Bounds of sessions that are kept with the data.
const (
	keptIdle   = 30 * 24 * time.Hour
	keptCookie = 400 * 24 * time.Hour // as long as browsers keep one
	keptNoted  = time.Hour            // how often it is noted that one is used
	keptSecret = 52                   // characters of a secret
)

// What is kept of a session: byLink, or byToken and the token, sealed with the browser's secret.
const (
	byLink  = "link"
	byToken = "token "
)

// keep keeps the session of the local operator, or of the holder of a token, and returns its secret.
func (h *Handler) keep(ctx context.Context, token string) (secret string, err error) {
	secret, now := rand.Text()+rand.Text(), h.opts.Clock()
	content := byLink
	if token != "" {
		sealer, err := seal.New(secret)
		if err != nil {
			return "", fault.From(err)
		}
		content = byToken + sealer.Seal([]byte(token), now.Add(keptCookie))
	}
	return secret, h.opts.SignIns.Keep(ctx, digestOf(secret), content, now, now.Add(-keptIdle), maxSessions)
}

func digestOf(secret string) string {
	digest := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(digest[:])
}

// find returns the session of a request; ok is false if there is none. One that was opened by a link does not count
// where people sign in with tokens, and the other way round: the server may have been started otherwise since.
func (h *Handler) find(r *http.Request) (s session, ok bool, err error) {
	secret := h.cookie(r)
	if s, ok := h.sessions.use(secret); ok || h.opts.SignIns == nil || len(secret) != keptSecret {
		return s, ok, nil
	}
	id, now := digestOf(secret), h.opts.Clock()
	content, used, ok, err := h.opts.SignIns.Find(r.Context(), id, now.Add(-keptIdle))
	if err != nil || !ok {
		return session{}, false, err
	}
	if s, ok = h.read(content, secret); !ok {
		return session{}, false, nil
	}
	if now.Sub(used) > keptNoted {
		err = h.opts.SignIns.Use(r.Context(), id, now)
	}
	return s, true, err
}

// read returns the session that was kept; ok is false if it is not for this server.
func (h *Handler) read(content, secret string) (s session, ok bool) {
	sealed, byToken := strings.CutPrefix(content, byToken)
	if byToken != (h.opts.Authenticate != nil) {
		return session{}, false
	}
	if !byToken {
		return session{principal: h.opts.Person}, content == byLink
	}
	sealer, err := seal.New(secret)
	if err != nil {
		return session{}, false
	}
	token, err := sealer.Open(sealed)
	return session{token: func(context.Context) (string, error) { return string(token), nil }}, err == nil
}

// end ends the session of a request.
func (h *Handler) end(r *http.Request) error {
	secret := h.cookie(r)
	h.sessions.remove(secret)
	if h.opts.SignIns == nil || len(secret) != keptSecret {
		return nil
	}
	return h.opts.SignIns.End(r.Context(), digestOf(secret))
}
