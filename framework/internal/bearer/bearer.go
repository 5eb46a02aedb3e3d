// Package bearer authenticates callers over HTTP by bearer tokens: static ones from a
// file, for installations that are too small for an identity provider.
//
// What belongs here: the Authorization header and its challenge, and the file of tokens.
// Not here: what a principal may do, which is in package auth and the catalog.
package bearer

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/regular"
)

// Tokens are static tokens. Only their digests are kept.
type Tokens struct{ entries []entry }

type entry struct {
	digest    [sha256.Size]byte
	principal auth.Principal
}

// file is the content of a file of tokens.
type file struct {
	Tokens []struct {
		Subject string   `yaml:"subject"`
		SHA256  string   `yaml:"sha256"`
		Scopes  []string `yaml:"scopes"`
		Sets    []string `yaml:"sets"`
	} `yaml:"tokens"`
}

// goTypeError is the decoder's text about Go types, which may quote values.
var goTypeError = regexp.MustCompile(`( not found in type |: cannot unmarshal )(.|\n)*`)

// maxFile bounds a file of tokens, in bytes.
const maxFile = 1 << 20

// Load reads a file of tokens. Its error lists all problems.
//
//	tokens:
//	  - subject: ci                 # the name in the journal
//	    sha256: 2bb80d53…           # printf %s "$TOKEN" | sha256sum
//	    scopes: [todo.read]         # "*" is every one; none without
//	    sets: [default, "tenant-*"] # "*" is every one; none without
func Load(path string) (*Tokens, error) {
	raw, err := regular.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	t, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func parse(raw []byte) (*Tokens, error) {
	var f file
	d := yaml.NewDecoder(strings.NewReader(string(raw)))
	d.KnownFields(true)
	var wrong *yaml.TypeError
	switch err := d.Decode(&f); {
	case errors.As(err, &wrong):
		for i, e := range wrong.Errors {
			wrong.Errors[i] = goTypeError.ReplaceAllString(e, " does not belong in this file: a token has subject, sha256, scopes and sets, below `tokens`")
		}
		return nil, errors.New(strings.Join(wrong.Errors, "; "))
	case err != nil && !errors.Is(err, io.EOF): // an empty file has no tokens
		return nil, err
	}
	t := &Tokens{}
	var problems []string
	seen := map[[sha256.Size]byte]bool{}
	for i, one := range f.Tokens {
		e := entry{principal: auth.Principal{Subject: one.Subject, Scopes: one.Scopes, Sets: one.Sets}}
		digest, err := hex.DecodeString(strings.TrimSpace(one.SHA256))
		switch {
		case one.Subject == "":
			problems = append(problems, fmt.Sprintf("token %d has no subject", i+1))
		case err != nil || len(digest) != sha256.Size:
			problems = append(problems, fmt.Sprintf("the sha256 of %q is not 64 hexadecimal digits", one.Subject))
		default:
			e.digest = [sha256.Size]byte(digest)
			if seen[e.digest] {
				problems = append(problems, fmt.Sprintf("the token of %q appears twice", one.Subject))
			}
			seen[e.digest] = true
			t.entries = append(t.entries, e)
		}
	}
	if len(f.Tokens) == 0 {
		problems = append(problems, "it has no tokens")
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return t, nil
}

// Principal returns the holder of a token; ok is false for an unknown one.
func (t *Tokens) Principal(token string) (p auth.Principal, ok bool) {
	digest := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.entries { // all of them, so that the time it takes reveals nothing
		if subtle.ConstantTimeCompare(digest[:], t.entries[i].digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return auth.Principal{}, false
	}
	return t.entries[found].principal, true
}

// Same reports whether others are the same tokens, with the same rights.
func (t *Tokens) Same(others *Tokens) bool { return reflect.DeepEqual(t, others) }

// Len returns how many tokens there are.
func (t *Tokens) Len() int {
	if t == nil {
		return 0
	}
	return len(t.entries)
}

// Has reports whether a token has this subject.
func (t *Tokens) Has(subject string) bool {
	return slices.ContainsFunc(t.entries, func(e entry) bool { return e.principal.Subject == subject })
}
