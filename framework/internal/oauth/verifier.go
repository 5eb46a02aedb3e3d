package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// Verifier turns access tokens into principals. It is safe for concurrent use.
type Verifier struct {
	opts Options
	keys *keys
}

// New makes a verifier. It does not wait for the issuer, whose keys are fetched when
// they are first needed. The error is that of Options.Check.
func New(o Options) (*Verifier, error) {
	if o.Resource == "" {
		return nil, errors.New("oauth: Options.Resource is missing")
	}
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	o.fill()
	v := &Verifier{opts: o}
	v.keys = &keys{issuer: o.Issuer, client: o.Client, now: o.Now, onFetch: v.fetched}
	return v, nil
}

func (v *Verifier) fetched(err error) {
	if err != nil {
		v.opts.Log.Warn("the keys of the authorization server are not available", "issuer", v.opts.Issuer, "error", err)
		return
	}
	v.opts.Log.Debug("the keys of the authorization server were fetched", "issuer", v.opts.Issuer)
}

// Ready returns why tokens cannot be verified now, nil if they can. If that is not known
// it asks the issuer, at most every ten seconds.
func (v *Verifier) Ready(ctx context.Context) error {
	if err := v.keys.ready(ctx); err != nil {
		return fmt.Errorf("the authorization server %s: %w", v.opts.Issuer, err)
	}
	return nil
}

// maxToken bounds an access token, in bytes.
const maxToken = 16 << 10

// maxSubject bounds the name of a caller, in bytes (OpenID Connect Core, section 2).
const maxSubject = 255

// maxNames bounds the scopes and the sets of one token.
const maxNames = 1000

// Verify returns the principal of an access token. The error is unauthorized, whose
// message says what is wrong with the token and quotes nothing of it, or
// service_unavailable while the issuer's keys are not available.
func (v *Verifier) Verify(ctx context.Context, token string) (auth.Principal, error) {
	p, err := v.verify(ctx, token)
	if err == nil {
		return p, nil
	}
	if errors.Is(err, errUnavailable) {
		return auth.Principal{}, fault.New(fault.ServiceUnavailable, "the authorization server's keys are not available, so no token can be checked").Because(err)
	}
	v.opts.Log.Debug("an access token was rejected", "error", err)
	why := "it is not valid"
	var w tokenProblem
	if errors.As(err, &w) {
		why = string(w)
	}
	return auth.Principal{}, fault.New(fault.Unauthorized, "the access token is rejected: "+why).Because(err)
}

// tokenProblem is a problem of a token that its issuer signed, so that its holder may know
// it.
type tokenProblem string

func (w tokenProblem) Error() string { return string(w) }

func (v *Verifier) verify(ctx context.Context, token string) (auth.Principal, error) {
	if len(token) > maxToken {
		return auth.Principal{}, tokenProblem(fmt.Sprintf("it is longer than %d bytes", maxToken))
	}
	payload, err := v.signed(ctx, token)
	if err != nil {
		return auth.Principal{}, err
	}
	// Names of claims are exact and unique: `Aud` is another claim than `aud`.
	claims, err := exact.Members(payload)
	if err != nil {
		return auth.Principal{}, errors.Join(tokenProblem("its claims cannot be read"), err)
	}
	if issuer, ok := text(claims["iss"]); !ok || issuer != v.opts.Issuer {
		return auth.Principal{}, tokenProblem("it has a different issuer")
	}
	if !v.hasAudience(claims["aud"]) {
		return auth.Principal{}, tokenProblem("it was issued for another resource")
	}
	if err := v.checkTimes(claims); err != nil {
		return auth.Principal{}, err
	}
	return v.principal(claims)
}

// text reads a claim that is a string.
func text(raw json.RawMessage) (s string, ok bool) {
	return s, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

// hasAudience reports whether the claim `aud`, a string or a list, has this resource.
func (v *Verifier) hasAudience(raw json.RawMessage) bool {
	var audiences []string
	if one, ok := text(raw); ok {
		audiences = []string{one}
	} else if len(raw) == 0 || json.Unmarshal(raw, &audiences) != nil {
		return false
	}
	return slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(v.opts.Audiences, a) })
}

// signed verifies the signature of a token and returns what it signs.
func (v *Verifier) signed(ctx context.Context, token string) ([]byte, error) {
	algorithms := make([]jose.SignatureAlgorithm, len(v.opts.Algorithms))
	for i, a := range v.opts.Algorithms {
		algorithms[i] = jose.SignatureAlgorithm(a)
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	header := parsed.Signatures[0].Protected
	if !v.isAccessToken(header.ExtraHeaders) {
		return nil, tokenProblem("its type is not that of an access token")
	}
	found, err := v.keys.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return nil, err
	}
	for _, key := range found {
		if payload, err := parsed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("the signature was not made with a key of the issuer")
}

// isAccessToken reports whether a token is an access token by the type in its header. The
// type is optional (RFC 7519, section 5.1), and a string.
func (v *Verifier) isAccessToken(header map[jose.HeaderKey]any) bool {
	typ := "JWT"
	if given, there := header[jose.HeaderType]; there {
		var ok bool
		if typ, ok = given.(string); !ok {
			return false
		}
	}
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return slices.ContainsFunc(v.opts.Types, func(t string) bool { return strings.EqualFold(t, typ) })
}

// checkTimes checks exp, which must be there, nbf and iat.
func (v *Verifier) checkTimes(claims map[string]json.RawMessage) error {
	at := func(name string) (seconds float64, there bool, err error) {
		raw, there := claims[name]
		if !there || string(raw) == "null" {
			return 0, false, nil
		}
		if json.Unmarshal(raw, &seconds) != nil || math.Abs(seconds) > math.MaxInt32*1000.0 {
			return 0, true, tokenProblem("its " + name + " is not a valid time")
		}
		return seconds, true, nil
	}
	exp, expires, err1 := at("exp")
	nbf, begins, err2 := at("nbf")
	iat, made, err3 := at("iat")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	now, skew := float64(v.opts.Now().UnixMilli())/1000, v.opts.Skew.Seconds()
	switch {
	case !expires:
		return tokenProblem("it has no exp")
	case now >= exp+skew:
		return tokenProblem("it has expired")
	case begins && now < nbf-skew, made && now < iat-skew:
		return tokenProblem("it is not valid yet")
	}
	return nil
}

// principal reads what a token grants. The scope "*" is only a name here: clients
// choose the scopes that they ask an issuer for.
func (v *Verifier) principal(claims map[string]json.RawMessage) (auth.Principal, error) {
	subject, _ := text(claims["sub"])
	if subject == "" || len(subject) > maxSubject {
		return auth.Principal{}, tokenProblem("it has no sub, or a very long one")
	}
	from := claims["scope"]
	if from == nil {
		from = claims["scp"]
	}
	scopes, err := names("scope", from)
	if err != nil {
		return auth.Principal{}, err
	}
	p := auth.Principal{
		Subject: subject, Sets: v.opts.Sets,
		Scopes: slices.DeleteFunc(scopes, func(s string) bool { return s == auth.All }),
	}
	if given, there := claims[v.opts.SetsClaim]; there && v.opts.SetsClaim != "" {
		if p.Sets, err = names(v.opts.SetsClaim, given); err != nil {
			return auth.Principal{}, err
		}
	}
	return p, nil
}

// names reads a claim that is a list, or one string with spaces between the names.
func names(claim string, raw json.RawMessage) ([]string, error) {
	out := []string{}
	if len(raw) == 0 || string(raw) == "null" {
		return out, nil
	}
	if one, ok := text(raw); ok {
		out = strings.Fields(one)
	} else if json.Unmarshal(raw, &out) != nil {
		return nil, tokenProblem("its " + claim + " is neither a string nor a list of strings")
	}
	if len(out) > maxNames {
		return nil, tokenProblem(fmt.Sprintf("its %s has more than %d names", claim, maxNames))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" }), nil
}
