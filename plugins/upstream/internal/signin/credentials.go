package signin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// Credentials are one user's sign-in to one upstream, for requests. They follow the file:
// a sign-in or sign-out by another process holds from the next request on. They are safe for
// concurrent use.
type Credentials struct {
	store   *Store
	up      Upstream
	user    string
	refresh singleflight.Group // by the token that is replaced

	mu      sync.Mutex
	record  *Record
	info    fs.FileInfo // of the file that record was read from
	problem error       // why there is no record, if a file is there
	tokens  []string    // the latest, for Known
	failure error       // of the last refresh
	failed  time.Time
}

// Credentials makes the credentials of a user.
func (s *Store) Credentials(up Upstream, user string) *Credentials {
	return &Credentials{store: s, up: up, user: user}
}

const (
	refreshTime = 30 * time.Second
	// pause is how long a failed refresh is not repeated, so that calls do not wait one after
	// the other for an authorization server that is away.
	pause = 3 * time.Second
	// settled is the age of a token that is worth refreshing when a server rejects it: a
	// younger one is rejected for another reason.
	settled = 5 * time.Second
)

// current returns the sign-in as the file has it now, nil if there is none.
func (c *Credentials) current() (*Record, error) {
	if c.store.dir == "" {
		return nil, nil
	}
	info, err := os.Stat(c.store.stem(c.up.ID, c.user) + suffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.record, c.info, c.problem = nil, nil, nil
		return nil, nil
	case c.info != nil && os.SameFile(c.info, info) && c.info.ModTime().Equal(info.ModTime()) && c.info.Size() == info.Size():
		return c.record, c.problem
	}
	r, info, err := c.store.read(c.up.ID, c.user)
	c.keep(r, info, err)
	return r, err
}

// keep notes what is in the file. The lock is held.
func (c *Credentials) keep(r *Record, info fs.FileInfo, problem error) {
	c.record, c.info, c.problem = r, info, problem
	if r == nil {
		return
	}
	for _, t := range []string{r.Access, r.Refresh} {
		if t != "" && !slices.Contains(c.tokens, t) {
			c.tokens = append(c.tokens, t)
		}
	}
	const kept = 8
	if n := len(c.tokens); n > kept {
		c.tokens = slices.Clone(c.tokens[n-kept:])
	}
}

// Current returns the sign-in if there is one for the upstream's URL, nil if not. Its errors
// are Needed, or of the file system.
func (c *Credentials) Current() (*Record, error) {
	r, err := c.current()
	if err != nil || r == nil || r.URL != c.up.URL {
		return nil, err
	}
	return r, nil
}

// Known returns the tokens that no text may show.
func (c *Credentials) Known() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tokens)
}

// Token returns an access token, and refreshes it if it is about to expire. Its errors are
// Needed, UnavailableError, or of the context or the file system.
func (c *Credentials) Token(ctx context.Context) (string, error) {
	r, err := c.usable()
	if err != nil {
		return "", err
	}
	now := time.Now()
	if !r.stale(now) || r.Refresh == "" {
		return r.Access, nil
	}
	fresh, err := c.renew(ctx, r.Access)
	var needed *Needed
	if err != nil && !r.expired(now) && !errors.As(err, &needed) && ctx.Err() == nil {
		return r.Access, nil // it still holds
	}
	return fresh, err
}

// Renew returns an access token after the upstream has rejected one: that of somebody who
// has already refreshed it, or a refreshed one.
func (c *Credentials) Renew(ctx context.Context, rejected string) (string, error) {
	r, err := c.usable()
	switch {
	case err != nil:
		return "", err
	case r.Access != rejected:
		return r.Access, nil
	case time.Since(r.ObtainedAt) < settled || r.Refresh == "":
		return "", &Needed{Reason: "the server does not accept the token that it was given"}
	}
	return c.renew(ctx, rejected)
}

// usable returns the sign-in, or why there is none of use.
func (c *Credentials) usable() (*Record, error) {
	r, err := c.current()
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, &Needed{Reason: "nobody is signed in"}
	case r.URL != c.up.URL:
		return nil, &Needed{Reason: "the sign-in is for another url, " + r.URL}
	}
	if why := r.Over(time.Now()); why != "" {
		return nil, &Needed{Reason: why}
	}
	return r, nil
}

// renew replaces a token, once for all who want it replaced at the same time. It goes on if
// the request that wanted it ends: the refresh token may be good for one use.
func (c *Credentials) renew(ctx context.Context, old string) (string, error) {
	c.mu.Lock()
	failure, again := c.failure, time.Since(c.failed) >= pause
	c.mu.Unlock()
	if failure != nil && !again {
		return "", failure
	}
	done := c.refresh.DoChan(old, func() (any, error) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
		defer cancel()
		token, err := c.replaceToken(bounded, old)
		var unavailable *UnavailableError
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failure = nil; errors.As(err, &unavailable) {
			c.failure, c.failed = err, time.Now()
		}
		return token, err
	})
	select {
	case result := <-done:
		token, _ := result.Val.(string)
		return token, result.Err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// replaceToken refreshes the tokens, unless another process has.
func (c *Credentials) replaceToken(ctx context.Context, old string) (string, error) {
	unlock, err := c.store.lock(ctx, c.up.ID, c.user)
	if err != nil {
		return "", err
	}
	defer unlock()
	r, err := c.usable()
	if err != nil {
		return "", err
	}
	if r.Access != old {
		return r.Access, nil
	}
	next := *r
	config, err := c.client(r)
	if err != nil {
		return "", err
	}
	token, err := config.Exchange(withHTTP(ctx, c.store.http), "", // the library's refresh cannot name the resource
		oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", r.Refresh), oauth2.SetAuthURLParam("resource", r.Resource))
	if err != nil {
		failure := tokenFailure(r.Issuer, err)
		var refused *refusal
		if !errors.As(failure, &refused) || !refused.final() {
			return "", &UnavailableError{Server: r.Issuer, Err: failure}
		}
		next.Access, next.Refresh, next.Ended = "", "", "the authorization server does not renew it: "+refused.Error()
		if refused.unknownClient() {
			next.Client = Client{} // the next sign-in registers another one
		}
		if werr := c.save(&next); werr != nil {
			return "", werr
		}
		return "", &Needed{Reason: next.Ended}
	}
	if err := next.take(token); err != nil {
		return "", &UnavailableError{Server: r.Issuer, Err: err}
	}
	return next.Access, c.save(&next)
}

// client returns the configuration of the client that the tokens were given to.
func (c *Credentials) client(r *Record) (*oauth2.Config, error) {
	client := r.Client
	if !client.Registered && c.up.ClientID != "" {
		if client.ID != c.up.ClientID {
			return nil, &Needed{Reason: "oauth.clientId is not the client that was signed in with"}
		}
		client.Secret = c.up.ClientSecret
	}
	return client.config(r.TokenURL, "", "", nil), nil
}

// save keeps a sign-in. The file's lock is held.
func (c *Credentials) save(r *Record) error {
	info, err := c.store.write(r)
	if err != nil {
		return fmt.Errorf("the tokens cannot be kept: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(r, info, nil)
	return nil
}
