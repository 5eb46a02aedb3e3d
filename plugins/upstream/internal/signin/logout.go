package signin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Logout forgets a sign-in, and then revokes its tokens (RFC 7009) if the authorization
// server can. found is false if there was none. The error revoke says why a token may still
// be valid.
func (s *Store) Logout(ctx context.Context, up Upstream, user string) (found bool, revoke, err error) {
	if s.dir == "" {
		return false, nil, nil
	}
	if users, err := s.Users(up.ID); err == nil && len(users) == 0 {
		return false, nil, nil
	}
	unlock, err := s.lock(ctx, up.ID, user)
	if err != nil {
		return false, nil, err
	}
	r, info, unreadable := s.read(up.ID, user)
	err = s.delete(up.ID, user)
	unlock()
	switch {
	case err != nil:
		return false, nil, err
	case unreadable != nil:
		return info != nil, unreadable, nil
	case r == nil:
		return false, nil, nil
	}
	return true, s.revoke(ctx, up, r), nil
}

// revoke revokes the refresh token, with which access tokens end too, or the access token.
func (s *Store) revoke(ctx context.Context, up Upstream, r *Record) error {
	token, kind := r.Refresh, "refresh_token"
	if token == "" {
		token, kind = r.Access, "access_token"
	}
	switch {
	case token == "":
		return nil
	case r.RevokeURL == "":
		return fmt.Errorf("the authorization server %s revokes no tokens", r.Issuer)
	}
	client := r.Client
	if !client.Registered && client.ID == up.ClientID {
		client.Secret = up.ClientSecret
	}
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	if client.Method != methodBasic {
		form.Set("client_id", client.ID)
		if client.Secret != "" {
			form.Set("client_secret", client.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client.Method == methodBasic {
		req.SetBasicAuth(url.QueryEscape(client.ID), url.QueryEscape(client.Secret))
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return &UnavailableError{Server: r.Issuer, Err: tokenFailure(r.Issuer, err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the authorization server %s did not revoke the token: HTTP status %d", r.Issuer, resp.StatusCode)
	}
	return nil
}
