package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/operator"
	"github.com/koan-go/koan/plugins/internal/reference"
	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// Config describes one server (CONTRACT section 8). Either Command or URL is set.
// Its texts may have references such as ${env:TOKEN}, which are replaced when the server is
// connected, so that secrets are not in anything that is printed or stored.
type Config struct {
	ID        string
	Command   []string // of a server over stdio
	Env       map[string]string
	Dir       string // working directory
	URL       string // of a server over HTTP
	Transport string // "" is stdio or Streamable HTTP; "sse" is the older HTTP transport
	Headers   map[string]string
	OAuth     OAuth // how people sign in to it
	rules
	Start time.Duration // of a connection, with the list of tools
	Place string        // where it was configured, for messages

	misread bool // how it is reached could not be read, which is reported already

	// EnvFile names a file with more variables, of an entry in a client's file; client is set for
	// those. wrong is why it cannot be used; notes are keys of it that are not followed.
	EnvFile string
	client  bool
	// workspace is the folder of the project that the file is of, "" for none.
	workspace string
	wrong     error
	notes     []string

	name    string // what the client's file calls it
	leftOut bool   // it is no server: wrong says why its name cannot be, or is another one's
	shared  string // whose the id is that its name would have, "" for its own
	off     string // what a person has switched it off with; it is left out, and nothing is wrong
}

// rules are what is configured of servers and plugins alike.
type rules = operator.Rules

// OAuth is the configuration of the sign-in to a server. All of it is optional: a server
// says itself how people sign in.
type OAuth struct {
	Scopes       []string // asked for; none: what the server names
	ClientID     string   // of a client that was registered by hand
	ClientSecret string   // a reference
	MetadataURL  string   // of a document that describes the client, and is its id
	RedirectPort int      // of the redirect on this machine; 0 is any
}

func (o *OAuth) set() bool {
	return len(o.Scopes) > 0 || o.ClientID != "" || o.ClientSecret != "" || o.MetadataURL != "" || o.RedirectPort != 0
}

// Defaults.
const (
	defaultTimeout     = time.Minute
	defaultStart       = time.Minute
	defaultMaxParallel = 8
)

// option is one key of a server's configuration.
type option struct {
	group bool // keys of the user's own stand below it
	set   func(c *Config, name, value string) error
}

var options = map[string]option{
	"command":                 {set: setCommand},
	"env":                     {group: true, set: func(c *Config, name, v string) error { c.Env = with(c.Env, name, v); return nil }},
	"cwd":                     {set: func(c *Config, _, v string) error { c.Dir = v; return nil }},
	"url":                     {set: setURL},
	"transport":               {set: setTransport},
	"headers":                 {group: true, set: func(c *Config, name, v string) error { c.Headers = with(c.Headers, name, v); return nil }},
	"oauth.scopes":            {set: setScopes},
	"oauth.clientId":          {set: func(c *Config, _, v string) error { c.OAuth.ClientID = v; return nil }},
	"oauth.clientSecret":      {set: setClientSecret},
	"oauth.clientMetadataUrl": {set: setMetadataURL},
	"oauth.redirectPort": {set: func(c *Config, _, v string) (err error) {
		if c.OAuth.RedirectPort, err = strconv.Atoi(v); err != nil || c.OAuth.RedirectPort < 1 || c.OAuth.RedirectPort > 65535 {
			return errors.New("must be a port, from 1 to 65535")
		}
		return nil
	}},
	"startMs": {set: func(c *Config, _, v string) (err error) { c.Start, err = operator.Milliseconds(v); return err }},
}

func with(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}

func setCommand(c *Config, _, v string) (err error) {
	if c.Command, err = words(v); err == nil && len(c.Command) == 0 {
		err = errors.New("must name the program to start, such as [npx, -y, server]")
	}
	return err
}

// words reads a command: a list, or one string with words separated by spaces.
func words(v string) ([]string, error) {
	if out, err := operator.Strings(v); err != nil || strings.HasPrefix(strings.TrimSpace(v), "[") {
		return out, err
	}
	return strings.Fields(v), nil
}

func setTransport(c *Config, _, v string) error {
	if v != "" && v != "http" && v != "sse" {
		return errors.New("must be http or sse")
	}
	if v == "sse" {
		c.Transport = v
	}
	return nil
}

func setScopes(c *Config, _, v string) error {
	list, err := operator.Strings(v)
	if err != nil {
		return err
	}
	for _, text := range list {
		for _, s := range strings.Fields(text) {
			if !signin.ValidScope(s) {
				return fmt.Errorf("has %.40q, which cannot be a scope", s)
			}
			c.OAuth.Scopes = append(c.OAuth.Scopes, s)
		}
	}
	return nil
}

func setClientSecret(c *Config, _, v string) error {
	if !reference.Pattern.MatchString(v) {
		return errors.New("must be a reference, ${env:NAME} or ${file:PATH}, so that the secret is not in the configuration")
	}
	c.OAuth.ClientSecret = v
	return nil
}

func setMetadataURL(c *Config, _, v string) error {
	if u, err := url.Parse(v); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" || u.Fragment != "" || u.User != nil {
		return errors.New("must be the https URL of a document, such as https://example.org/koan.json")
	}
	c.OAuth.MetadataURL = v
	return nil
}

func setURL(c *Config, _, v string) error {
	c.URL = v
	return checkURL(v)
}

// checkURL accepts the address of a server, and any text that refers to a variable.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") && !strings.Contains(text, "${") {
		return errors.New("must be one of http or https, such as https://example.org/mcp")
	}
	return nil
}

// parseKeys reads the keys below "upstreams", which are relative to it. The error lists all
// problems.
func parseKeys(values map[string]string) ([]Config, error) {
	servers := map[string]*Config{}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		id, rest, ok := strings.Cut(key, ".")
		place := settingsKey + "." + id
		id = norm.NFC.String(id)
		if !ok {
			problems = append(problems, fmt.Errorf("%s %w", place, noKeys(id)))
			continue
		}
		c := servers[id]
		if c == nil {
			c = &Config{ID: id, Place: place}
			servers[id] = c
		}
		if err := c.set(rest, values[key]); err != nil {
			problems = append(problems, fmt.Errorf("%s.%s %w", place, rest, err))
			c.misread = c.misread || strings.EqualFold(rest, "command") || strings.EqualFold(rest, "url")
		}
	}
	var out []Config
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		out = append(out, *servers[id])
	}
	return out, errors.Join(problems...)
}

// noKeys is what is wrong with a server that has a value instead of keys.
func noKeys(id string) error {
	return fmt.Errorf("wants keys of a server below it, such as %s.%s.url", settingsKey, id)
}

// checkKey checks one key below "upstreams", relative to it, and its value.
func checkKey(key, value string) error {
	id, rest, ok := strings.Cut(key, ".")
	if !ok {
		return noKeys(id)
	}
	return (&Config{}).set(rest, value)
}

// reached reports whether a configuration has a command or a URL, or was meant to.
func (c *Config) reached() bool { return len(c.Command) > 0 || c.URL != "" || c.misread }

// join merges the servers of the keys with those of a client's file. A server of the keys
// without a command or URL adds to the one of that name in the file.
func join(keys, file []Config) ([]Config, error) {
	out := slices.Clone(file)
	var problems []error
	for _, c := range keys {
		i := slices.IndexFunc(out, func(other Config) bool { return !other.leftOut && other.ID == c.ID })
		switch {
		case i < 0 && !c.reached() && slices.ContainsFunc(out, func(other Config) bool { return other.off != "" && other.ID == c.ID }):
			// It adds to a server that is switched off.
		case i < 0 && !c.reached() && fault.DidYouMean(c.ID, ids(out)) != "":
			problems = append(problems, fmt.Errorf("%s: has neither a command nor a url%s", c.Place, fault.DidYouMean(c.ID, ids(out))))
		case i < 0:
			out = append(out, c)
		case c.reached():
			problems = append(problems, fmt.Errorf("two servers are called %q: %s and %s", c.ID, out[i].Place, c.Place))
		default:
			c.Command, c.URL, c.Transport, c.Dir = out[i].Command, out[i].URL, cmp.Or(c.Transport, out[i].Transport), cmp.Or(c.Dir, out[i].Dir)
			c.Env, c.Headers = merged(out[i].Env, c.Env), merged(out[i].Headers, c.Headers)
			c.Allow, c.Deny = slices.Concat(out[i].Allow, c.Allow), slices.Concat(out[i].Deny, c.Deny)
			c.Timeout, c.Place, c.misread = cmp.Or(c.Timeout, out[i].Timeout), out[i].Place, out[i].misread
			c.EnvFile, c.client, c.workspace, c.wrong, c.notes = out[i].EnvFile, out[i].client, out[i].workspace, out[i].wrong, out[i].notes
			c.Start, c.name, c.shared = cmp.Or(c.Start, out[i].Start), out[i].name, out[i].shared
			out[i] = c
		}
	}
	for i := range out {
		if out[i].leftOut {
			continue
		}
		if err := out[i].checkID(); err != nil && out[i].client {
			out[i].leaveOut(fmt.Errorf("%s is left out: %w", out[i].Place, err))
			continue
		}
		err := out[i].complete()
		if err != nil && out[i].client {
			out[i].wrong = errors.Join(out[i].wrong, err) // the others start
		} else if err != nil {
			problems = append(problems, err)
		}
	}
	return out, errors.Join(problems...)
}

func ids(all []Config) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}

// authorized reports whether a token or a password is configured.
func (c *Config) authorized() bool {
	for name := range c.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// signsIn reports whether people can sign in to the server.
func (c *Config) signsIn() bool { return c.URL != "" && !c.authorized() }

// merged returns the members of both; those of the second win.
func merged[V any](a, b map[string]V) map[string]V {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// set sets one key. Case is ignored, since variables of the environment have none.
func (c *Config) set(key, value string) error {
	if known, err := c.rules.Set(key, value); known {
		return err
	}
	for name, o := range options {
		if !o.group && strings.EqualFold(key, name) {
			return o.set(c, "", value)
		}
		prefix := name + "."
		if o.group && len(key) > len(prefix) && strings.EqualFold(key[:len(prefix)], prefix) {
			return o.set(c, key[len(prefix):], value)
		}
	}
	return fmt.Errorf("is not a key of a server%s", fault.DidYouMean(key, slices.AppendSeq(operator.Keys(), maps.Keys(options))))
}

// complete fills in defaults, and reports members that exclude each other.
func (c *Config) complete() error {
	c.Timeout, c.Start = cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.Start, defaultStart)
	c.MaxParallel = cmp.Or(c.MaxParallel, defaultMaxParallel)
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: "+format, append([]any{c.Place}, args...)...))
	}
	if err := c.checkID(); err != nil {
		problem("%w", err)
	}
	switch {
	case len(c.Command) > 0 && c.URL != "":
		problem("has both a command and a url: give one of them")
	case c.misread:
	case len(c.Command) == 0 && c.URL == "":
		problem("has neither a command nor a url")
	case c.URL != "":
		if err := checkURL(c.URL); err != nil {
			problem("the url %w", err)
		}
	case c.Transport != "":
		problem("a transport goes with a url")
	}
	switch {
	case c.OAuth.set() && c.URL == "":
		problem("oauth goes with a url")
	case c.OAuth.set() && c.authorized():
		problem("has both oauth and a header Authorization: give one of them")
	case c.OAuth.ClientSecret != "" && c.OAuth.ClientID == "":
		problem("oauth.clientSecret goes with oauth.clientId")
	case c.OAuth.MetadataURL != "" && c.OAuth.ClientID != "":
		problem("has both oauth.clientId and oauth.clientMetadataUrl: give one of them")
	}
	if c.Dir != "" && !filepath.IsAbs(c.Dir) && !strings.Contains(c.Dir, "${") {
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			problem("cwd: %v", err)
		}
		c.Dir = dir
	}
	return errors.Join(problems...)
}
