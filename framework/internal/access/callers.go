package access

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/bearer"
	"github.com/koan-go/koan/framework/internal/oauth"
)

// Callers authenticates callers. It is safe for concurrent use.
type Callers struct {
	tokens atomic.Pointer[bearer.Tokens]
	oauth  *oauth.Verifier // nil without an issuer
	client oauth.Client
	log    *slog.Logger
}

// App describes the app that callers call.
type App struct {
	Name    string
	URL     string // of the MCP endpoint, where server.publicUrl leaves it open
	Catalog func() *catalog.Snapshot
	Log     *slog.Logger
}

// Callers returns the authentication that is configured. The issuer's keys are fetched in
// the background: see Ready.
func (c Config) Callers(app App) (*Callers, error) {
	out := &Callers{log: app.Log, client: c.client}
	out.tokens.Store(c.tokens)
	if c.oauth == nil {
		return out, nil
	}
	o := *c.oauth
	o.Name, o.Log = app.Name, app.Log
	if o.Resource == "" {
		o.Resource = app.URL
	}
	if o.Scopes == nil {
		o.Scopes = func() []string { return app.Catalog().Scopes() }
	}
	var err error
	if out.oauth, err = oauth.New(o); err != nil {
		return nil, err
	}
	go func() { _ = out.oauth.Ready(context.Background()) }() // it logs
	return out, nil
}

// localSubject is the subject of the local operator.
var localSubject = auth.Local().Subject

// Authenticate returns the principal of a request: first by the static tokens, then by
// the issuer. Its error is unauthorized and has a Challenge, or service_unavailable.
func (c *Callers) Authenticate(r *http.Request) (auth.Principal, error) {
	token, err := bearer.Token(r)
	if err != nil {
		var refused bearer.Refused
		errors.As(err, &refused)
		return auth.Principal{}, c.refusal(refused.Fault, refused.Why)
	}
	static := c.tokens.Load()
	if static != nil {
		if p, ok := static.Principal(token); ok {
			return p, nil
		}
	}
	invalid := bearer.Challenge{Error: bearer.InvalidToken}
	if c.oauth == nil {
		return auth.Principal{}, c.refusal(fault.New(fault.Unauthorized, "the bearer token is not valid"), invalid)
	}
	p, err := c.oauth.Verify(r.Context(), token)
	if f := fault.From(err); err != nil && f.Code == fault.Unauthorized {
		invalid.Description = f.Message
		return auth.Principal{}, c.refusal(f, invalid)
	}
	if err != nil {
		return auth.Principal{}, err
	}
	// Plans, keys and limits go by the subject: two callers must not have the same.
	if p.Subject == localSubject || static != nil && static.Has(p.Subject) {
		c.log.Warn("an access token was rejected: its subject is that of another caller of this server", "subject", p.Subject)
		return auth.Principal{}, c.refusal(fault.New(fault.Unauthorized, "the access token is rejected: its sub belongs to another caller of this server"), invalid)
	}
	return p, nil
}

func (c *Callers) refusal(f *fault.Fault, why bearer.Challenge) error {
	if c.oauth != nil {
		why = c.oauth.Challenge(why)
	}
	return bearer.Refused{Fault: f, Why: why}
}

// StepUp is the challenge for a caller whose access token lacks scopes; "" for holders of
// static tokens, who cannot get others.
func (c *Callers) StepUp(r *http.Request, scopes []string) string {
	if c.oauth == nil {
		return ""
	}
	token, err := bearer.Token(r)
	if err != nil {
		return ""
	}
	if static := c.tokens.Load(); static != nil {
		if _, ok := static.Principal(token); ok {
			return ""
		}
	}
	challenge, ok := c.oauth.StepUp(scopes)
	if !ok {
		return ""
	}
	return challenge.String()
}

// Metadata serves the metadata that names the issuer, below oauth.WellKnown; nil without
// an issuer.
func (c *Callers) Metadata() http.Handler {
	if c.oauth == nil {
		return nil
	}
	return c.oauth
}

// SignIn returns how people sign in at the issuer, who come back to a URL; nil if they do not.
func (c *Callers) SignIn(redirect string) *oauth.SignIn {
	if c.oauth == nil || c.client.ID == "" {
		return nil
	}
	client := c.client
	client.Redirect = redirect
	return c.oauth.SignIn(client)
}

// Ready returns why callers cannot be authenticated now, nil if they can.
func (c *Callers) Ready(ctx context.Context) error {
	if c.oauth == nil {
		return nil
	}
	return c.oauth.Ready(ctx)
}

// Reload reads the file of tokens again (catalog.Reloadable); apply is nil if they are
// the same as before.
func (c *Callers) Reload(next catalog.Values) (apply func(), err error) {
	t, problems := readTokens(next)
	if len(problems) == 0 && t == nil && c.oauth == nil {
		problems = []error{errors.New(keyTokens + ": callers would no longer be authenticated; that needs a restart")}
	}
	if len(problems) == 0 && t.Same(c.tokens.Load()) {
		return nil, nil
	}
	return func() {
		c.tokens.Store(t)
		c.log.Info("the tokens were reloaded", "tokens", t.Len())
	}, errors.Join(problems...)
}
