package framework

import (
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
)

// secrets are those that the app knows: of its configuration, and of providers. The redactor asks for
// them whenever it redacts.
type secrets struct {
	configured atomic.Pointer[[]string]
	holders    atomic.Pointer[[]catalog.SecretHolder]
}

// configure takes the secrets of a configuration: values that are declared secret, those of free keys
// that are named so, and passwords in URLs.
func (s *secrets) configure(v interface {
	Each(fn func(s catalog.Setting, key, text string))
},
) {
	var found []string
	v.Each(func(setting catalog.Setting, key, text string) {
		if setting.Secret || setting.Open && isNamedSecret(key, text) && !strings.Contains(text, "${") {
			found = append(found, text)
		} else if u, err := url.Parse(text); err == nil && u.User != nil {
			password, _ := u.User.Password()
			found = append(found, password)
		}
	})
	found = slices.DeleteFunc(found, func(secret string) bool { return len(secret) < journal.LeastValue })
	s.configured.Store(&found)
}

// isNamedSecret reports whether a free key is named like a secret, and its value can be one. Those below
// effects are names of tools.
func isNamedSecret(key, text string) bool {
	return !strings.Contains(key, ".effects.") && journal.SecretSetting(key[strings.LastIndexByte(key, '.')+1:], text)
}

// ask has a provider asked for its secrets from now on.
func (s *secrets) ask(p Provider) {
	h, ok := p.(catalog.SecretHolder)
	if !ok {
		return
	}
	var all []catalog.SecretHolder
	if last := s.holders.Load(); last != nil {
		all = append(all, *last...)
	}
	all = append(all, h)
	s.holders.Store(&all)
}

// known returns all secrets.
func (s *secrets) known() []string {
	out := *s.configured.Load()
	if holders := s.holders.Load(); holders != nil {
		out = out[:len(out):len(out)]
		for _, h := range *holders {
			for _, secret := range h.Secrets() {
				if len(secret) >= journal.LeastValue {
					out = append(out, secret)
				}
			}
		}
	}
	return out
}
