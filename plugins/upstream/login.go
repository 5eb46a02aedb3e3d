package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// signInCommands are `upstream login` and `upstream logout`.
func signInCommands() []*catalog.Command {
	user := catalog.CommandFlag{Name: "user", Default: localUser, Help: "who signs in: the subject of a caller over HTTP, as its token names it"}
	return []*catalog.Command{
		{
			Name: "login", Args: []string{"ID"}, Short: "Sign in to a server", Example: "upstream login linear",
			Long: `Signs in to a server that wants it (OAuth 2.1): opens the page of its authorization
server in the browser, waits for the answer, and keeps the tokens, encrypted. It asks for the
scopes of upstreams.<id>.oauth.scopes, those of the last sign-in, and those of --scope.

With --no-browser it prints the link alone. If the browser is on another machine, it ends at
an address there that cannot be loaded: paste that address here.`,
			Flags: []catalog.CommandFlag{
				{Name: "scope", Default: []string{}, Help: "a scope to ask for beside those that it has; can be given several times"},
				{Name: "no-browser", Default: false, Help: "print the link only"},
				user,
			},
			Run: login,
		},
		{
			Name: "logout", Args: []string{"ID"}, Short: "Forget a sign-in, and revoke its tokens", Example: "upstream logout linear",
			Long: "Deletes the tokens of a sign-in here, and has the authorization server revoke them if it can.", Flags: []catalog.CommandFlag{user}, Run: logout,
		},
	}
}

// signInWait is how long a person may take.
const signInWait = 10 * time.Minute

// configuredServer returns the server with an id, to which people can sign in.
func configuredServer(ctx context.Context, host catalog.Host, id string) (*server, error) {
	servers, _, err := standing(ctx, host)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range servers {
		ids = append(ids, s.cfg.ID)
		if s.cfg.ID != id {
			continue
		}
		if len(s.cfg.Command) > 0 {
			return nil, fault.Newf(fault.InvalidPayload, "the server %s is a command on this machine, so there is nothing to sign in to", id).WithHint("Only servers with a `url` have a sign-in. Give a command what it needs in its `env`.")
		}
		if s.cfg.authorized() {
			return nil, fault.Newf(fault.InvalidPayload, "the server %s has a header Authorization in %s: remove it to sign in", id, s.cfg.Place)
		}
		return s, nil
	}
	return nil, fault.Newf(fault.InvalidPayload, "no server is called %q%s", id, fault.DidYouMean(id, ids)).
		WithHint("`%s upstream list` shows the configured servers.", host.Command())
}

func login(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
	s, err := configuredServer(ctx, host, in.Args[0])
	if err != nil {
		return err
	}
	defer s.close()
	user := in.Strings["user"]
	if user == "" {
		return fault.New(fault.InvalidPayload, "--user is empty")
	}
	var scopes []string
	for _, text := range in.Lists["scope"] {
		for _, scope := range strings.Fields(text) {
			if !signin.ValidScope(scope) {
				return fault.Newf(fault.InvalidPayload, "%q cannot be a scope", scope)
			}
			scopes = append(scopes, scope)
		}
	}
	up, err := s.cfg.upstream()
	if err != nil {
		return err
	}
	challenge, err := overview{s}.challenge(ctx)
	if err != nil {
		return err
	}
	l := &signin.Login{Store: s.people.store, Upstream: *up, User: user, Challenge: challenge, Scopes: scopes, Wait: signInWait}
	l.Show = func(link string) { show(in, s.cfg.ID, link) }
	if in.Bools["no-browser"] {
		l.Pasted = lines(ctx, in.In)
	}
	r, err := l.Run(ctx)
	if err != nil {
		return s.signInFailure(err)
	}
	in.Out.Printf("Signed in to %s%s.\n", s.cfg.ID, standingOf(r, user))
	if missing := without(scopes, r.Scopes); len(missing) > 0 {
		in.Err.Printf("The authorization server did not grant: %s.\n", strings.Join(missing, ", "))
	}
	if _, err := s.acquire(ctx, user); err != nil {
		in.Err.Printf("The sign-in is kept, but the server cannot be used yet.\n")
		return err
	}
	in.Out.Printf("It has %s.\n", catalog.Counted(len(s.current().operations), "tool"))
	return nil
}

// show leads the person to the page of the authorization server.
func show(in *catalog.Invocation, id, link string) {
	if in.Bools["no-browser"] {
		in.Err.Printf("Open this page to sign in to %s:\n\n  %s\n\nWaiting. If the browser is on another machine, paste the address that it ends at here.\n", id, link)
		return
	}
	if err := signin.OpenBrowser(link); err != nil {
		in.Err.Printf("No browser can be opened here (%v). Open this page to sign in to %s:\n\n  %s\n\n", err, id, link)
	} else {
		in.Err.Printf("Sign in to %s in the browser. If it has not opened, open this page:\n\n  %s\n\n", id, link)
	}
	in.Err.Printf("Waiting, at most %s. Ctrl-C ends it, and changes nothing.\n", signInWait)
}

// lines returns the lines of a reader that are not empty.
func lines(ctx context.Context, from io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		const most = 16 << 10
		scan := bufio.NewScanner(from)
		scan.Buffer(nil, most)
		for scan.Scan() {
			if strings.TrimSpace(scan.Text()) == "" {
				continue
			}
			select {
			case out <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// signInFailure is a failed sign-in as the command line shows it.
func (s *faults) signInFailure(err error) error {
	if errors.Is(err, context.Canceled) {
		return fault.Newf(fault.Cancelled, "the sign-in to %s was ended; nothing has changed", s.cfg.ID)
	}
	f := fault.Newf(fault.Unauthorized, "nobody was signed in to %s: %s", s.cfg.ID, plainText(err.Error(), 1000)).Because(err)
	switch {
	case errors.As(err, new(*signin.UndescribedError)):
		return f.WithHint("Check the url of %s. If the server wants a token that it gives out elsewhere, set upstreams.%s.headers, for example Authorization: \"Bearer ${env:TOKEN}\".", s.cfg.Place, s.cfg.ID)
	case errors.As(err, new(*signin.UnavailableError)):
		return f.WithHint("Sign in later, or tell whoever runs the authorization server what is wrong.")
	}
	return f.WithHint("Mend what is named, and sign in again.")
}

// standingOf says whose sign-in it is, and how long it holds.
func standingOf(r *signin.Record, user string) string {
	text := ""
	if user != localUser {
		text = " as " + plainText(user, 100)
	}
	if r.Refresh == "" && !r.Expiry.IsZero() {
		text += ", until " + r.Expiry.Format(time.RFC3339) + " (it cannot be renewed)"
	}
	return text
}

// without returns the members of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func logout(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
	s, err := configuredServer(ctx, host, in.Args[0])
	if err != nil {
		return err
	}
	up, err := s.cfg.upstream()
	if err != nil {
		return err
	}
	user := in.Strings["user"]
	found, kept, err := s.people.store.Logout(ctx, *up, user)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%s is not signed in to %s", user, s.cfg.ID)
	case kept != nil:
		in.Err.Printf("The tokens are deleted here, but were not revoked: %s.\n", plainText(kept.Error(), 500))
	}
	in.Out.Printf("Signed out of %s.\n", s.cfg.ID)
	return nil
}

// signInState is the column of `upstream list`.
func (s overview) signInState(now time.Time) catalog.Cell {
	if !s.cfg.signsIn() {
		return catalog.Cell{}
	}
	users, err := s.people.store.Users(s.cfg.ID)
	if err != nil {
		return catalog.Cell{Text: "cannot be read: " + err.Error(), Mood: catalog.Bad}
	}
	own, others := catalog.Cell{}, 0
	if s.cfg.OAuth.set() {
		own = catalog.Cell{Text: "needs a sign-in", Mood: catalog.Bad}
	}
	for _, user := range users {
		if user != localUser {
			others++
			continue
		}
		own = s.ownState(now)
	}
	if others > 0 {
		own.Text = strings.TrimPrefix(own.Text+", "+catalog.Counted(others, "other user"), ", ")
	}
	return own
}

// ownState is the state of the operator's own sign-in.
func (s overview) ownState(now time.Time) catalog.Cell {
	credentials, _, err := s.people.credentials(&s.cfg, localUser)
	switch {
	case err != nil:
		return catalog.Cell{Text: plainText(err.Error(), 100), Mood: catalog.Bad}
	case credentials == nil:
		return catalog.Cell{Text: "needs a sign-in: that for another url is not used", Mood: catalog.Bad}
	}
	r, err := credentials.Current()
	switch {
	case err != nil || r == nil:
		return catalog.Cell{Text: "needs a sign-in", Mood: catalog.Bad}
	case r.Over(now) != "":
		return catalog.Cell{Text: "needs a sign-in: " + plainText(r.Over(now), 100), Mood: catalog.Bad}
	case r.Refresh == "" && !r.Expiry.IsZero():
		return catalog.Cell{Text: "until " + r.Expiry.Format("2006-01-02 15:04"), Mood: catalog.Good}
	}
	return catalog.Cell{Text: "signed in", Mood: catalog.Good}
}
