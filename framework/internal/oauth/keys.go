package oauth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/koan-go/koan/framework/exact"
)

// How long the issuer's keys are cached, and how often they are fetched. Tokens with
// invented key ids do not cause more fetches.
const (
	freshTime = 10 * time.Minute // after it they are fetched again, while the old ones serve
	staleTime = time.Hour        // after it they serve no more
	pauseTime = 10 * time.Second // between two questions
	fetchTime = 5 * time.Second  // for one document
	maxFetch  = 1 << 20          // bytes of one document
	minRSA    = 2048             // bits
)

var (
	errUnknownKey  = errors.New("the issuer has no such key")
	errUnavailable = errors.New("the issuer's keys are not available")
)

// keys are the issuer's published keys, fetched at their first use.
type keys struct {
	issuer  string
	client  *http.Client
	now     func() time.Time
	onFetch func(err error) // hears how each fetch ended

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time
	tried   time.Time
	failed  error
	flight  chan struct{} // closed when the running fetch ends
}

// find returns the keys that may have made a signature: the one with that id, or without
// an id all keys of the algorithm. The error is errUnknownKey or errUnavailable.
func (k *keys) find(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	got, age := k.lookup(id, algorithm), k.now().Sub(k.fetched)
	if len(got) > 0 && age < freshTime {
		k.mu.Unlock()
		return got, nil
	}
	wait := k.refresh()
	k.mu.Unlock()
	if len(got) > 0 && age < staleTime {
		return got, nil
	}
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, errUnavailable
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Sub(k.fetched) >= staleTime {
		return nil, errUnavailable
	}
	if got = k.lookup(id, algorithm); len(got) == 0 {
		return nil, errUnknownKey
	}
	return got, nil
}

func (k *keys) lookup(id, algorithm string) []jose.JSONWebKey {
	var out []jose.JSONWebKey
	for _, key := range k.set {
		if (id == "" || key.KeyID == id) && (key.Algorithm == "" || key.Algorithm == algorithm) {
			out = append(out, key)
		}
	}
	return out
}

// refresh begins a fetch, unless one is running or has just ended. It returns a channel
// that is closed when the fetch ends, nil if there is none. The lock is held.
func (k *keys) refresh() <-chan struct{} {
	if k.flight != nil {
		return k.flight
	}
	if !k.tried.IsZero() && k.now().Sub(k.tried) < pauseTime {
		return nil
	}
	k.tried, k.flight = k.now(), make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		set, err := k.fetch()
		k.onFetch(err)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.flight, k.failed = nil, err
		if err == nil {
			k.set, k.fetched = set, k.now()
		}
	}(k.flight)
	return k.flight
}

// ready returns why there are no keys, nil if there are.
func (k *keys) ready(ctx context.Context) error {
	k.mu.Lock()
	if !k.fetched.IsZero() && k.now().Sub(k.fetched) < freshTime {
		k.mu.Unlock()
		return nil
	}
	wait := k.refresh()
	usable := !k.fetched.IsZero() && k.now().Sub(k.fetched) < staleTime
	k.mu.Unlock()
	if usable {
		return nil
	}
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetched.IsZero() || k.now().Sub(k.fetched) >= staleTime {
		return k.failed
	}
	return nil
}

// about fetches the issuer's metadata.
func (k *keys) about() (map[string]json.RawMessage, error) {
	var about map[string]json.RawMessage
	var problems []error
	for _, where := range metadataOf(k.issuer) {
		var err error
		if about, err = k.get(where); err == nil {
			break
		}
		problems = append(problems, err)
	}
	if about == nil {
		return nil, errors.Join(problems...)
	}
	if issuer, _ := text(about["issuer"]); issuer != k.issuer {
		return nil, fmt.Errorf("%s says that its issuer is %q", k.issuer, shorten(issuer))
	}
	return about, nil
}

// fetch fetches the issuer's metadata, and then its keys.
func (k *keys) fetch() ([]jose.JSONWebKey, error) {
	about, err := k.about()
	if err != nil {
		return nil, err
	}
	where, _ := text(about["jwks_uri"])
	if err := address(where); err != nil {
		return nil, fmt.Errorf("%s: jwks_uri: %w", k.issuer, err)
	}
	set, err := k.get(where)
	if err != nil {
		return nil, err
	}
	var keys []json.RawMessage
	if err := json.Unmarshal(set["keys"], &keys); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	out := usable(keys)
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: there are no public keys for signatures", where)
	}
	return out, nil
}

// metadataOf returns the URLs where an issuer's metadata may be, by OpenID Connect
// Discovery and by RFC 8414.
func metadataOf(issuer string) []string {
	out := []string{strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"}
	if u, err := url.Parse(issuer); err == nil {
		u.Path = "/.well-known/oauth-authorization-server" + strings.TrimSuffix(u.Path, "/")
		out = append(out, u.String())
	}
	return out
}

// usable returns the public keys that can verify signatures, and ignores others.
func usable(raw []json.RawMessage) []jose.JSONWebKey {
	var out []jose.JSONWebKey
	for _, one := range raw {
		var key jose.JSONWebKey
		if json.Unmarshal(one, &key) != nil || !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
			continue
		}
		if r, ok := key.Key.(*rsa.PublicKey); ok && r.N.BitLen() < minRSA {
			continue
		}
		out = append(out, key)
	}
	return out
}

// get reads a JSON document: an object.
func (k *keys) get(where string) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxFetch+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", where, err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", where, resp.Status)
	case len(raw) > maxFetch:
		return nil, fmt.Errorf("%s: longer than %d bytes", where, maxFetch)
	}
	out, err := exact.Members(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return out, nil
}

func shorten(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}
