package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/regular"
	"github.com/koan-go/koan/plugins/internal/reference"
	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// secrets are the values of references, which are redacted in texts of the server.
type secrets struct {
	values []string
	tokens *signin.Credentials // whose tokens are redacted too; nil for none
}

// variables are what references of a server's configuration may name.
type variables struct {
	own       map[string]string // its own env, which comes before that of this program
	open      map[string]bool   // those of own that are being replaced
	workspace string            // the folder of the project that the configuration is of, "" for none
	client    bool              // what has no value stays as it is written, as in clients
}

// expand replaces the references of a text. The error names those without a value.
func (s *secrets) expand(text string, v *variables) (string, error) {
	var problems []error
	out := reference.Pattern.ReplaceAllStringFunc(text, func(ref string) string {
		value, err := s.value(ref[2:len(ref)-1], v)
		switch {
		case errors.Is(err, reference.ErrNoVariable) && v.client:
			return ref
		case err != nil:
			problems = append(problems, &reference.Unresolved{Ref: ref, Err: err})
		}
		if name := variableOf(ref[2 : len(ref)-1]); !slices.Contains(inherited, name) && !strings.HasPrefix(name, "workspaceFolder") { // HOME and its like are no secrets
			s.add(value)
		}
		return value
	})
	return out, errors.Join(problems...)
}

// value returns what a reference stands for. The server's own env may refer to itself.
func (s *secrets) value(ref string, v *variables) (string, error) {
	switch {
	case v.workspace == "":
	case ref == "workspaceFolder":
		return v.workspace, nil
	case ref == "workspaceFolderBasename":
		return filepath.Base(v.workspace), nil
	}
	name := variableOf(ref)
	text, own := v.own[name]
	if !own || v.open[name] || text == "" && strings.Contains(ref, ":-") {
		return reference.Resolve(ref)
	}
	if v.open == nil {
		v.open = map[string]bool{}
	}
	v.open[name] = true
	defer delete(v.open, name)
	return s.expand(text, v)
}

// variableOf returns the variable that a reference names, if it does.
func variableOf(ref string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, "env:"), ":-")
	return name
}

// add adds a value that must not be shown, unless it is short, since it would then occur in
// unrelated words.
func (s *secrets) add(value string) {
	if len(value) >= journal.LeastValue && !slices.Contains(s.values, value) {
		s.values = append(s.values, value)
	}
}

// redact removes the values from a text, however they are encoded.
func (s *secrets) redact(text string) string { return journal.RedactValues(text, s.all()) }

// redactJSON removes the values from the texts of JSON.
func (s *secrets) redactJSON(raw []byte) json.RawMessage {
	return journal.RedactValuesJSON(raw, s.all())
}

func (s *secrets) all() []string {
	if s.tokens == nil {
		return s.values
	}
	return append(s.tokens.Known(), s.values...)
}

// resolved is a server's configuration with its references replaced.
type resolved struct {
	command []string
	env     map[string]string
	dir     string
	url     string
	headers map[string]string
	secrets secrets
	hidden  []string // those that no text of the app shows: of the others, parts of an address may be ordinary words
}

// resolve replaces all references of a configuration.
func (c *Config) resolve() (*resolved, error) {
	r := &resolved{env: map[string]string{}, headers: map[string]string{}}
	if c.wrong != nil {
		return r, c.wrong
	}
	v := &variables{own: c.Env, client: c.client, workspace: c.workspace}
	var problems []error
	if c.EnvFile != "" {
		more, err := readEnvFile(c.EnvFile)
		if err != nil {
			problems = append(problems, err)
		}
		v.own = merged(more, c.Env)
	}
	expand := func(text string) string {
		out, err := r.secrets.expand(text, v)
		if err != nil {
			problems = append(problems, err)
		}
		return out
	}
	for _, word := range c.Command {
		r.command = append(r.command, expand(word))
	}
	for _, name := range slices.Sorted(maps.Keys(v.own)) {
		v.open = map[string]bool{name: true} // PATH: ${PATH}:/more
		r.env[name] = expand(v.own[name])
	}
	v.open = nil
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		r.headers[name] = expand(c.Headers[name])
	}
	r.dir, r.url = expand(c.Dir), expand(c.URL)
	r.addWrittenOut()
	if len(problems) == 0 {
		return r, nil
	}
	err := errors.Join(problems...)
	return r, &explained{text: strings.ReplaceAll(err.Error(), "\n", "; "), err: err}
}

// readEnvFile reads a file of lines NAME=VALUE, in which values may be quoted.
func readEnvFile(path string) (map[string]string, error) {
	raw, err := regular.ReadFile(path, reference.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("its envFile cannot be read: %w", err)
	}
	out := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(string(raw), string(byteOrderMark))) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !reference.Variable.MatchString(name) {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		out[name] = value
	}
	return out, nil
}

// addWrittenOut adds the secrets that stand in the configuration itself, as in most files
// of clients.
func (r *resolved) addWrittenOut() {
	for _, named := range []map[string]string{r.env, r.headers} {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if !journal.SecretName(name) {
				continue
			}
			r.secrets.add(named[name])
			if _, token, ok := strings.Cut(named[name], " "); ok { // behind Bearer
				r.secrets.add(token)
			}
		}
	}
	_, inCommand := journal.RedactCommand(r.command)
	_, inURL := journal.RedactURL(r.url)
	for _, secret := range inCommand {
		r.secrets.add(secret)
	}
	r.hidden = slices.Clone(r.secrets.values)
	for _, secret := range inURL {
		r.secrets.add(secret)
	}
}

// shown returns texts of the configuration without what may be secret in them.
func (c *Config) shown() (command []string, address string) {
	known := secrets{}
	for _, named := range []map[string]string{c.Env, c.Headers} {
		for name, value := range named {
			if journal.SecretName(name) && !reference.Pattern.MatchString(value) {
				known.add(value)
			}
		}
	}
	command, _ = journal.RedactCommand(c.Command)
	for i, word := range command {
		command[i] = known.redact(word)
	}
	address, _ = journal.RedactURL(c.URL)
	return command, known.redact(address)
}

// withoutSecrets returns the fault of a call that failed without what looks like a secret: a server may quote one that
// nobody here knows. A script has no use for it, and whoever reads its result must not have it.
func withoutSecrets(f *fault.Fault) *fault.Fault {
	clean, _ := (*journal.Redactor)(nil).Fault(f)
	return clean
}
