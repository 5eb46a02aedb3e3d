package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/seal"
)

// SignIns keeps sessions with the data, so that they outlive the process and hold on each replica. An id is the digest
// of a secret that only the browser has.
type SignIns interface {
	// Keep keeps a session of a holder. It forgets all last used before since, and of the holder's those unused for
	// longest above most.
	Keep(ctx context.Context, id, holder, content string, at, since time.Time, most int) error
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

// sessions are those of the browsers that have signed in.
type sessions struct {
	brief   *bySecret[session] // that end with the process
	kept    SignIns            // nil: all are brief
	clock   func() time.Time
	person  auth.Principal // whoever signs in by a link
	byToken bool           // links do not count
	log     *slog.Logger
}

// add adds a session, and returns its secret and how long browsers keep it, 0 until they are closed.
func (s *sessions) add(ctx context.Context, one session) (secret string, age time.Duration, err error) {
	if s.kept == nil || !one.lasts {
		return s.brief.add(one), 0, nil
	}
	secret, content, now := rand.Text()+rand.Text(), byLink, s.clock()
	if one.token != nil {
		token, err := one.token(ctx)
		if err != nil {
			return "", 0, err
		}
		sealer, err := seal.New(secret)
		if err != nil {
			return "", 0, err
		}
		content = byToken + sealer.Seal([]byte(token), now.Add(keptCookie))
	}
	return secret, keptCookie, s.kept.Keep(ctx, digestOf(secret), one.holder, content, now, now.Add(-keptIdle), maxSessions)
}

func digestOf(secret string) string {
	digest := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(digest[:])
}

// use returns the session of a secret, which lives on from now; ok is false if there is none.
func (s *sessions) use(ctx context.Context, secret string) (one session, ok bool, err error) {
	if one, ok := s.brief.use(secret); ok || s.kept == nil || len(secret) != keptSecret {
		return one, ok, nil
	}
	id, now := digestOf(secret), s.clock()
	content, used, ok, err := s.kept.Find(ctx, id, now.Add(-keptIdle))
	if err != nil || !ok {
		return session{}, false, err
	}
	if one, ok = s.read(content, secret); !ok {
		return session{}, false, nil
	}
	if now.Sub(used) > keptNoted {
		if err := s.kept.Use(ctx, id, now); err != nil { // whoever has signed in may work all the same
			s.log.WarnContext(ctx, "the use of a session could not be noted; it may end early", "error", err)
		}
	}
	return one, true, nil
}

// read returns a session that was kept; ok is false if it was opened by a link and people sign in with tokens, or
// the other way round: the server may have been started otherwise since.
func (s *sessions) read(content, secret string) (one session, ok bool) {
	sealed, ofToken := strings.CutPrefix(content, byToken)
	if ofToken != s.byToken {
		return session{}, false
	}
	if !ofToken {
		return session{principal: s.person, lasts: true}, content == byLink
	}
	sealer, err := seal.New(secret)
	if err != nil {
		return session{}, false
	}
	token, err := sealer.Open(sealed)
	return byTokenOf(string(token)), err == nil
}

// byTokenOf is the session of whoever has a token.
func byTokenOf(token string) session {
	return session{token: func(context.Context) (string, error) { return token, nil }, lasts: true}
}

// end ends the session of a secret.
func (s *sessions) end(ctx context.Context, secret string) error {
	s.brief.remove(secret)
	if s.kept == nil || len(secret) != keptSecret {
		return nil
	}
	return s.kept.End(ctx, digestOf(secret))
}
