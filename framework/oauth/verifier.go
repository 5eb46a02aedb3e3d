package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/koan-go/koan/framework/auth"
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
	v.keys = &keys{issuer: o.Issuer, client: o.Client, now: o.Now, said: v.fetched}
	return v, nil
}

func (v *Verifier) fetched(err error) {
	if err != nil {
		v.opts.Log.Warn("the keys of the authorization server cannot be had", "issuer", v.opts.Issuer, "error", err)
		return
	}
	v.opts.Log.Debug("the keys of the authorization server were read", "issuer", v.opts.Issuer)
}

// Ready tells whether tokens can be verified now, and why not. It asks the issuer
// where that is not known, at most every ten seconds.
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

// Verify gives the principal of an access token. It ends in unauthorized, with a
// message that says what is wrong with the token and nothing of its content, or in
// service_unavailable while the issuer's keys cannot be had.
func (v *Verifier) Verify(ctx context.Context, token string) (auth.Principal, error) {
	p, err := v.verify(ctx, token)
	if err == nil {
		return p, nil
	}
	if errors.Is(err, errUnavailable) {
		return auth.Principal{}, fault.New(fault.ServiceUnavailable, "the authorization server's keys cannot be had, so that no token can be checked").Because(err)
	}
	v.opts.Log.Debug("an access token was refused", "error", err)
	why := "it is not valid"
	var w wrong
	if errors.As(err, &w) {
		why = string(w)
	}
	return auth.Principal{}, fault.New(fault.Unauthorized, "the access token is refused: "+why).Because(err)
}

// wrong is what is wrong with a token that its issuer signed: its holder may know.
type wrong string

func (w wrong) Error() string { return string(w) }

func (v *Verifier) verify(ctx context.Context, token string) (auth.Principal, error) {
	if len(token) > maxToken {
		return auth.Principal{}, wrong(fmt.Sprintf("it is longer than %d bytes", maxToken))
	}
	signed := &signature{keys: v.keys, types: v.opts.Types, algorithms: v.opts.Algorithms}
	// Times and audience are checked here: an access token's rules differ from those
	// of the ID tokens that the library has in mind.
	verified, err := oidc.NewVerifier(v.opts.Issuer, signed, &oidc.Config{
		SupportedSigningAlgs: v.opts.Algorithms, SkipClientIDCheck: true, SkipExpiryCheck: true,
	}).Verify(ctx, token)
	switch {
	case signed.err != nil:
		return auth.Principal{}, signed.err
	case err != nil && signed.good:
		return auth.Principal{}, errors.Join(wrong("another issuer made it, or its claims cannot be read"), err)
	case err != nil:
		return auth.Principal{}, err
	}
	if !slices.ContainsFunc(verified.Audience, func(aud string) bool { return slices.Contains(v.opts.Audiences, aud) }) {
		return auth.Principal{}, wrong("it was made for another resource")
	}
	claims := map[string]json.RawMessage{}
	if err := verified.Claims(&claims); err != nil {
		return auth.Principal{}, err
	}
	if err := v.inTime(claims); err != nil {
		return auth.Principal{}, err
	}
	return v.principal(verified.Subject, claims)
}

// signature verifies one token's signature for the library. What came of it is kept
// here, since the library hands on a text only.
type signature struct {
	keys       *keys
	types      []string
	algorithms []string

	err  error // why not, where the library could not know
	good bool
}

var _ oidc.KeySet = (*signature)(nil)

// VerifySignature implements oidc.KeySet.
func (s *signature) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	var algorithms []jose.SignatureAlgorithm
	for _, a := range s.algorithms {
		algorithms = append(algorithms, jose.SignatureAlgorithm(a))
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	header := parsed.Signatures[0].Protected
	typ, _ := header.ExtraHeaders[jose.HeaderType].(string)
	if typ == "" {
		typ = "JWT" // RFC 7519, section 5.1: it may be left out
	}
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	if !slices.ContainsFunc(s.types, func(t string) bool { return strings.EqualFold(t, typ) }) {
		s.err = wrong("it is no access token by its type")
		return nil, s.err
	}
	found, err := s.keys.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		s.err = err
		return nil, err
	}
	for _, key := range found {
		if payload, err := parsed.Verify(key.Key); err == nil {
			s.good = true
			return payload, nil
		}
	}
	return nil, errors.New("no key of the issuer made the signature")
}

// inTime checks exp, which must be there, nbf and iat.
func (v *Verifier) inTime(claims map[string]json.RawMessage) error {
	at := func(name string) (seconds float64, there bool, err error) {
		raw, there := claims[name]
		if !there || string(raw) == "null" {
			return 0, false, nil
		}
		if json.Unmarshal(raw, &seconds) != nil || math.Abs(seconds) > math.MaxInt32*1000.0 {
			return 0, true, wrong("its " + name + " is no time")
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
		return wrong("it has no exp")
	case now >= exp+skew:
		return wrong("it has expired")
	case begins && now < nbf-skew, made && now < iat-skew:
		return wrong("it is not valid yet")
	}
	return nil
}

// principal reads what a token grants. The scope "*" is only a name here: clients
// choose the scopes that they ask an issuer for.
func (v *Verifier) principal(subject string, claims map[string]json.RawMessage) (auth.Principal, error) {
	if subject == "" || len(subject) > maxSubject {
		return auth.Principal{}, wrong("it has no sub, or a very long one")
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

// names reads a claim that is a list, or one text with blanks between the names.
func names(claim string, raw json.RawMessage) ([]string, error) {
	out := []string{}
	if len(raw) == 0 || string(raw) == "null" {
		return out, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		out = strings.Fields(text)
	} else if json.Unmarshal(raw, &out) != nil {
		return nil, wrong("its " + claim + " is no text and no list of texts")
	}
	if len(out) > maxNames {
		return nil, wrong(fmt.Sprintf("its %s has more than %d names", claim, maxNames))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" }), nil
}
