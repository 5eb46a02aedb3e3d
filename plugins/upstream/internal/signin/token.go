package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// refusal is an authorization server's answer to a request for tokens that it refuses.
type refusal struct {
	status      int
	code        string // RFC 6749, section 5.2
	description string
}

func (e *refusal) Error() string {
	text := fmt.Sprintf("HTTP status %d", e.status)
	if e.code != "" {
		text = quoted(e.code)
	}
	if e.description != "" {
		text += " (" + quoted(e.description) + ")"
	}
	return text
}

// final reports whether the same request will always be refused.
func (e *refusal) final() bool {
	return slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type", "invalid_target"}, e.code)
}

// unknownClient reports whether the authorization server has forgotten the client.
func (e *refusal) unknownClient() bool {
	return e.code == "invalid_client" || e.code == "unauthorized_client"
}

// tokenFailure is why a request for tokens failed, without what the response quotes.
func tokenFailure(issuer string, err error) error {
	var retrieve *oauth2.RetrieveError
	var network *url.Error
	switch {
	case errors.As(err, &retrieve):
		return &refusal{status: retrieve.Response.StatusCode, code: retrieve.ErrorCode, description: retrieve.ErrorDescription}
	case errors.As(err, &network):
		return network.Err
	}
	return errors.New("its answer to the request for tokens cannot be used")
}

// withHTTP has the library use a client.
func withHTTP(ctx context.Context, client *http.Client) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, client)
}

// take puts new tokens into a sign-in. A response that leaves out the scopes has given those
// that were asked for, and one without a refresh token leaves the old one.
func (r *Record) take(t *oauth2.Token) error {
	const most = 64 << 10
	if kind := t.Type(); !strings.EqualFold(kind, "Bearer") {
		return fmt.Errorf("it gives tokens of the type %s, and only bearer tokens can be used", quoted(kind))
	}
	if len(t.AccessToken) > most || len(t.RefreshToken) > most || strings.ContainsFunc(t.AccessToken, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("it gave a token that cannot be sent")
	}
	r.Access, r.ObtainedAt, r.Expiry = t.AccessToken, time.Now().UTC(), t.Expiry.UTC()
	if t.Expiry.IsZero() {
		r.Expiry = time.Time{}
	}
	if t.RefreshToken != "" {
		r.Refresh = t.RefreshToken
	}
	if text, ok := t.Extra("scope").(string); ok && text != "" {
		r.Scopes = parseScopes(text)
	}
	return nil
}
