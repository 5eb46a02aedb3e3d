package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/userdata"
	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// localUser is the local operator, who operates this app.
var localUser = auth.Local().Subject

// people are those who are signed in to servers, and how others sign in.
type people struct {
	store      *signin.Store
	command    string // of this app
	clientFile string

	tokens *catalog.SecretList // of all that are signed in

	mu    sync.Mutex
	known map[[2]string]*signin.Credentials // by server and user
}

func newPeople(host catalog.Host, configs []Config, tokens *catalog.SecretList) *people {
	p := &people{
		command: host.Command(), clientFile: host.Settings().String(clientFileKey), known: map[[2]string]*signin.Credentials{},
	}
	dir, key := "", ""
	if !host.Testing() && slices.ContainsFunc(configs, func(c Config) bool { return c.signsIn() }) {
		var err error
		if dir, key, err = signInFiles(host.App()); err != nil {
			host.Log().Warn("there is no folder to keep sign-ins to upstream servers in", "error", err)
		}
	}
	p.keepIn(signin.NewStore(dir, key, host.Settings().Strings("server.secret")), tokens)
	return p
}

// keepIn sets where sign-ins are kept, and tokens to get all that are read or written.
func (p *people) keepIn(store *signin.Store, tokens *catalog.SecretList) {
	p.store, p.tokens = store, tokens
	store.Learned = tokens.Renew
}

// signInFiles returns the folder of the sign-ins and the file of their key, which is
// elsewhere: a copy of the folder alone opens nothing.
func signInFiles(app string) (dir, key string, err error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return "", "", err
	}
	data, err := userdata.Home()
	if err != nil {
		return "", "", err
	}
	return filepath.Join(data, "koan", app, "sign-ins"), filepath.Join(config, "koan", app, "sign-ins.key"), nil
}

// credentials returns the credentials of a user who is signed in to a server, and which
// sign-in it is; nil for all others.
func (p *people) credentials(c *Config, user string) (*signin.Credentials, string, error) {
	if !c.signsIn() || user == "" {
		return nil, "", nil
	}
	has := p.store.Has(c.ID, user)
	name := [2]string{c.ID, user}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !has {
		delete(p.known, name)
		return nil, "", nil
	}
	credentials := p.known[name]
	if credentials == nil {
		up, err := c.upstream()
		if err != nil {
			return nil, "", err
		}
		p.tokens.Add(up.ClientSecret)
		credentials = p.store.Credentials(*up, user)
		p.known[name] = credentials
	}
	r, err := credentials.Current()
	if err != nil || r == nil {
		return nil, "", err
	}
	return credentials, r.ID, nil
}

// upstream describes the server to package signin.
func (c *Config) upstream() (*signin.Upstream, error) {
	r, err := c.resolve()
	if err != nil {
		return nil, err
	}
	secret, err := r.secrets.expand(c.OAuth.ClientSecret, &variables{own: c.Env})
	if err != nil {
		return nil, err
	}
	return &signin.Upstream{
		ID: c.ID, URL: r.url, ClientID: c.OAuth.ClientID, ClientSecret: secret, MetadataURL: c.OAuth.MetadataURL,
		Scopes: c.OAuth.Scopes, RedirectPort: c.OAuth.RedirectPort,
	}, nil
}

// loginCommand is what signs a user in.
func (s *faults) loginCommand(user string, scopes []string) string {
	words := []string{"upstream", "login", s.cfg.ID}
	if user != localUser && user != "" {
		words = append(words, "--user", catalog.ShellWord(user))
	}
	for _, scope := range scopes {
		words = append(words, "--scope", catalog.ShellWord(scope))
	}
	return s.people.typed(words...)
}

// checkCommand is what says what is wrong with servers.
func (s *faults) checkCommand() string { return s.people.typed("upstream", "check") }

// typed is a command of this app as a person types it.
func (p *people) typed(words ...string) string {
	words = append([]string{p.command}, words...)
	if p.clientFile != "" {
		words = append(words, "--"+clientFileKey, catalog.ShellWord(p.clientFile))
	}
	return strings.Join(words, " ")
}

// howToSignIn is the hint for a user.
func (s *faults) howToSignIn(user string, scopes []string) string {
	if user != localUser && user != "" {
		return fmt.Sprintf("The operator of this app signs %s in: `%s`.", cut(user, 100), s.loginCommand(user, scopes))
	}
	return fmt.Sprintf("Sign in: `%s`.", s.loginCommand(user, scopes))
}

// signInFault is the fault of a call that the server's sign-in stands in the way of; nil for
// other errors.
func (s *faults) signInFault(user string, err error) *fault.Fault {
	var needed *signin.Needed
	var away *signin.UnavailableError
	var unusable *tokenError
	var status *statusError
	switch {
	case errors.As(err, &needed):
		return fault.Newf(fault.Unauthorized, "the sign-in to the server %s is of no use: %s", s.cfg.ID, cut(needed.Reason, 500)).WithHint("%s", s.howToSignIn(user, nil)).Because(err)
	case errors.As(err, &away):
		return fault.Newf(fault.ServiceUnavailable, "the sign-in to the server %s cannot be renewed: %s", s.cfg.ID, cut(plainText(away.Error(), 500), 500)).
			WithRetry(fault.Safe).WithHint("Try again shortly.").Because(err)
	case errors.As(err, &unusable):
		return fault.Newf(fault.ServiceUnavailable, "the sign-in to the server %s cannot be used: %s", s.cfg.ID, cut(plainText(unusable.Error(), 500), 500)).WithRetry(fault.Safe).Because(err)
	case !errors.As(err, &status):
		return nil
	case status.status == http.StatusUnauthorized:
		return s.unauthorized(user, status)
	case status.status == http.StatusForbidden && status.challenge.Error == signin.InsufficientScope && s.cfg.signsIn():
		f := fault.Newf(fault.Forbidden, "the server %s wants more rights than the sign-in has", s.cfg.ID).WithHint("%s", s.howToSignIn(user, status.challenge.Scopes)).Because(status)
		if len(status.challenge.Scopes) == 0 {
			return f
		}
		f.Message += ": the scopes " + cut(strings.Join(status.challenge.Scopes, ", "), 500)
		return f.WithDetails(map[string]any{"upstream": s.cfg.ID, "scopes": status.challenge.Scopes})
	}
	return nil
}

// whoseRights is the hint for a call that the server does not allow, and does not say why.
func (s *faults) whoseRights() string {
	if s.cfg.signsIn() {
		return "Ask the server's operator for the right, or sign in as somebody who has it."
	}
	return fmt.Sprintf("Check what the credentials in the headers of %s may do.", s.cfg.Place)
}

// unauthorized is the fault of HTTP status 401.
func (s *faults) unauthorized(user string, e *statusError) *fault.Fault {
	headers := fmt.Sprintf("upstreams.%s.headers, for example Authorization: \"Bearer ${env:TOKEN}\"", s.cfg.ID)
	switch {
	case !s.cfg.signsIn():
		return fault.Newf(fault.Unauthorized, "the server %s does not accept the credentials: %v", s.cfg.ID, e).WithHint("Correct the header Authorization in the headers of %s.", s.cfg.Place).Because(e)
	case s.elsewhere(user):
		return fault.Newf(fault.Unauthorized, "the server %s needs a sign-in, and the one that is kept is for another url", s.cfg.ID).WithHint("%s", s.howToSignIn(user, nil)).Because(e)
	case e.challenge.Bearer || s.cfg.OAuth.set():
		return fault.Newf(fault.Unauthorized, "the server %s needs a sign-in (HTTP status %d)", s.cfg.ID, e.status).WithHint("%s", s.howToSignIn(user, nil)).Because(e)
	}
	return fault.Newf(fault.Unauthorized, "the server %s needs credentials: %v", s.cfg.ID, e).WithHint("Set %s. %s", headers, s.howToSignIn(user, nil)).Because(e)
}

// elsewhere reports whether a user is signed in, but not at the server's url.
func (s *faults) elsewhere(user string) bool {
	credentials, _, err := s.people.credentials(&s.cfg, user)
	return err == nil && credentials == nil && user != "" && s.people.store.Has(s.cfg.ID, user)
}

// unreached is the fault of a server that no connection can be had to.
func (s *faults) unreached(user string, err error) *fault.Fault {
	if f := s.signInFault(user, err); f != nil {
		return f
	}
	if errors.As(err, new(*circle)) {
		return s.unavailable(err).WithHint("%s", s.advice(err)).WithRetry(fault.Never)
	}
	var status *statusError
	if !errors.As(err, &status) {
		return s.unavailable(err)
	}
	switch status.status {
	case http.StatusForbidden:
		return fault.Newf(fault.Forbidden, "the server %s does not allow a connection: %v", s.cfg.ID, status).WithHint("%s", s.whoseRights()).Because(err)
	case http.StatusTooManyRequests:
		return s.rateLimited("connections", status, status.retryAfter)
	}
	return s.unavailable(err)
}

// paused is the same while no other attempt is made.
func (s *faults) paused(user string, err error, wait time.Duration) *fault.Fault {
	f, wait := s.unreached(user, err), max(wait.Round(time.Second), time.Second)
	var status *statusError
	switch {
	case f.Code == fault.ServiceUnavailable && f.Retry != fault.Never:
		return f.WithHint("It is tried again in %s; `%s` says what is wrong.", wait, s.checkCommand())
	case f.Code == fault.RateLimited && errors.As(err, &status):
		return s.rateLimited("connections", status, wait)
	}
	return f
}

// challenge asks a server for its challenge, with a request that has no token and no effect.
func (s overview) challenge(ctx context.Context) (signin.Challenge, error) {
	r, err := s.cfg.resolve()
	if err != nil {
		return signin.Challenge{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Start, fmt.Errorf("it did not answer in %s", s.cfg.Start))
	defer cancel()
	method, body := http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if s.cfg.Transport == "sse" {
		method, body = http.MethodGet, ""
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url, strings.NewReader(body))
	if err != nil {
		return signin.Challenge{}, err
	}
	req.GetBody = nil // whatever it answers is as good
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := newHTTPClient(r.headers, r.secrets, nil).Do(req)
	var status *statusError
	switch {
	case errors.As(err, &status):
		return status.challenge, nil
	case ctx.Err() != nil:
		return signin.Challenge{}, s.unavailable(context.Cause(ctx))
	case err != nil:
		return signin.Challenge{}, s.unavailable(err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 1)
	return signin.Challenge{}, resp.Body.Close()
}
