// Package operator holds what an app's operator configures for plugins and other MCP servers
// alike: which of their functions are offered, what effects these have, and how many
// calls they get at once.
//
// What belongs here: reading these keys, and their application to names of functions. Not here:
// how a plugin or a server is reached, or keys that only one of them has.
package operator

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/framework/catalog"
)

// Rules are what is configured of one plugin or server. They take precedence over whatever it
// says of itself.
type Rules struct {
	Allow []string // patterns of the functions to offer; empty: all
	Deny  []string // patterns of those to leave out
	Trust bool     // what it says of the effects of its functions is believed
	// Effects are effects by pattern of the function's name, each some of read, write,
	// destructive and idempotent.
	Effects     map[string]string
	Timeout     time.Duration // of one call; 0 is not configured
	MaxParallel int           // calls in flight; 0 is not configured
}

// Unknown are the effects of a function of which nothing is known that counts.
var Unknown = catalog.Effects{Outside: true, Destructive: true}

// effectsKey is the key below which each key is a pattern.
const effectsKey = "effects"

var keys = map[string]func(r *Rules, value string) error{
	"tools.allow": func(r *Rules, v string) (err error) { r.Allow, err = Strings(v); return err },
	"tools.deny":  func(r *Rules, v string) (err error) { r.Deny, err = Strings(v); return err },
	"trust": func(r *Rules, v string) (err error) {
		if r.Trust, err = strconv.ParseBool(v); err != nil {
			return errors.New("must be true or false")
		}
		return nil
	},
	"timeoutMs": func(r *Rules, v string) (err error) { r.Timeout, err = Milliseconds(v); return err },
	"maxParallel": func(r *Rules, v string) (err error) {
		if r.MaxParallel, err = strconv.Atoi(v); err != nil || r.MaxParallel < 1 || r.MaxParallel > 1000 {
			return errors.New("must be a whole number from 1 to 1000")
		}
		return nil
	},
}

// Keys returns the keys of Rules, sorted.
func Keys() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(keys)), effectsKey)))
}

// Set sets one key, and reports whether it is one of Keys. Case is ignored, since variables of
// the environment have none.
func (r *Rules) Set(key, value string) (known bool, err error) {
	for name, set := range keys {
		if strings.EqualFold(key, name) {
			return true, set(r, value)
		}
	}
	const prefix = effectsKey + "."
	if len(key) <= len(prefix) || !strings.EqualFold(key[:len(prefix)], prefix) {
		return false, nil
	}
	if _, err := ParseEffects(value); err != nil {
		return true, err
	}
	if r.Effects == nil {
		r.Effects = map[string]string{}
	}
	r.Effects[key[len(prefix):]] = value
	return true, nil
}

// Strings reads a list of strings in YAML or JSON, or a single string.
func Strings(v string) ([]string, error) {
	if !strings.HasPrefix(strings.TrimSpace(v), "[") {
		return []string{v}, nil
	}
	var out []string
	if err := yaml.Unmarshal([]byte(v), &out); err != nil {
		return nil, errors.New("must be a list of texts, such as [a, b]")
	}
	return out, nil
}

// Milliseconds reads a duration of at most a day.
func Milliseconds(v string) (time.Duration, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 86_400_000 {
		return 0, errors.New("must be a whole number from 1 to 86400000 (ms)")
	}
	return time.Duration(n) * time.Millisecond, nil
}

// ParseEffects reads effects, as "read", "write, idempotent", or a list of them.
func ParseEffects(v string) (catalog.Effects, error) {
	e := catalog.Effects{Outside: true}
	list, err := Strings(v)
	if err != nil {
		return e, err
	}
	words := strings.FieldsFunc(strings.Join(list, ","), func(r rune) bool { return r == ',' || r == ' ' })
	if len(words) == 0 {
		return e, errors.New("must be some of read, write, destructive and idempotent")
	}
	for _, word := range words {
		switch word {
		case "read":
			e.ReadOnly, e.Idempotent = true, true
		case "write":
		case "destructive":
			e.Destructive = true
		case "idempotent":
			e.Idempotent = true
		default:
			return e, fmt.Errorf("must be some of read, write, destructive and idempotent, not %q", word)
		}
	}
	if e.ReadOnly && e.Destructive {
		return e, errors.New("cannot be both read and destructive")
	}
	return e, nil
}

// Offers reports whether a function is to be offered.
func (r *Rules) Offers(name string) bool {
	matches := func(pattern string) bool { return Match(pattern, name) }
	return (len(r.Allow) == 0 || slices.ContainsFunc(r.Allow, matches)) && !slices.ContainsFunc(r.Deny, matches)
}

// EffectsOf returns the effects of a function: the configured ones of the longest pattern that
// matches, else those that it says itself if it is trusted, else the worst.
func (r *Rules) EffectsOf(name string, says func() catalog.Effects) catalog.Effects {
	if e, ok := r.configuredEffects(name); ok {
		return e
	}
	if !r.Trust {
		return Unknown
	}
	return says()
}

func (r *Rules) configuredEffects(name string) (e catalog.Effects, ok bool) {
	best := ""
	for pattern := range r.Effects {
		if Match(pattern, name) && (!ok || len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, ok = pattern, true
		}
	}
	if ok {
		e, _ = ParseEffects(r.Effects[best]) // Set has checked it
	}
	return e, ok
}

// IdlePatterns returns the patterns that match none of the names, each with its key.
func (r *Rules) IdlePatterns(names []string) (out []string) {
	check := func(key, pattern string) {
		if !slices.ContainsFunc(names, func(name string) bool { return Match(pattern, name) }) {
			out = append(out, key+" "+pattern)
		}
	}
	for _, pattern := range r.Allow {
		check("tools.allow", pattern)
	}
	for _, pattern := range r.Deny {
		check("tools.deny", pattern)
	}
	for _, pattern := range slices.Sorted(maps.Keys(r.Effects)) {
		check(effectsKey, pattern)
	}
	return out
}

// Overlap reports whether there is a name that matches two patterns.
func Overlap(a, b string) bool {
	// after[j] is whether what is left of a, from i on, overlaps with what is left of b, from j on.
	after := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		before := after
		after = make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				after[j] = true
			case i < len(a) && a[i] == '*':
				after[j] = before[j] || j < len(b) && after[j+1]
			case j < len(b) && b[j] == '*':
				after[j] = after[j+1] || i < len(a) && before[j]
			default:
				after[j] = i < len(a) && j < len(b) && a[i] == b[j] && before[j+1]
			}
		}
	}
	return after[0]
}

// Match reports whether a name matches a pattern, in which * is any text.
func Match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ok, err := regexp.MatchString("^(?s:"+strings.Join(parts, ".*")+")$", name)
	return err == nil && ok
}
