// Package auth describes the caller: the principal, its scopes and its sets.
//
// What belongs here: the Principal, its place in a context, and set patterns. Not here:
// how a caller is authenticated (tokens, OAuth), which is a surface's business, and
// what it wants to call.
package auth

import (
	"context"
	"slices"
	"strings"
)

// All, as a scope or a set pattern, means every one.
const All = "*"

// Principal is the caller. It is a value: copy it freely, never change one that is in use.
type Principal struct {
	Subject string   // stable name of the caller, for the journal
	Scopes  []string // what it may do; All grants every scope but Approve and Journal
	Sets    []string // which sets it may name: names, prefixes that end in "*", or All
}

// Scopes that a principal must hold by name: All does not contain them.
const (
	Approve = "koan:approve" // deciding about plans: whoever asks must not be the one who agrees
	Journal = "koan:journal" // reading the reports of runs of others
)

// Local is the principal of stdio and of `APP run`: the local operator,
// with all scopes but Approve, and all sets.
func Local() Principal {
	return Principal{Subject: "local", Scopes: []string{All, Journal}, Sets: []string{All}}
}

// Every returns all scopes that an operation may need: All, and those that it does not contain.
func Every() []string { return []string{All, Approve, Journal} }

// IsLocal reports whether the principal is the local operator.
func (p Principal) IsLocal() bool { return p.Subject == Local().Subject && p.Has(All) }

// Has reports whether the principal has a scope.
func (p Principal) Has(scope string) bool {
	return slices.Contains(p.Scopes, scope) || scope != Approve && scope != Journal && slices.Contains(p.Scopes, All)
}

// Missing returns the first of the scopes that the principal lacks, "" if none.
func (p Principal) Missing(scopes []string) string {
	for _, s := range scopes {
		if !p.Has(s) {
			return s
		}
	}
	return ""
}

// MayName reports whether the principal may name a set.
func (p Principal) MayName(set string) bool {
	return slices.ContainsFunc(p.Sets, func(pattern string) bool { return MatchSet(pattern, set) })
}

// DefaultSet returns the set of calls that name none: "default", or the only one that the principal
// may name.
func (p Principal) DefaultSet() string {
	if len(p.Sets) == 1 && !strings.HasSuffix(p.Sets[0], All) {
		return p.Sets[0]
	}
	return "default"
}

// SetOr returns the set to use where none is named: the given one, or the principal's first if it may
// not name that, and the first is no pattern.
func (p Principal) SetOr(set string) string {
	if !p.MayName(set) && len(p.Sets) > 0 && !strings.HasSuffix(p.Sets[0], All) {
		return p.Sets[0]
	}
	return set
}

// Covered returns what the principal may name of some sets and patterns of sets: a pattern
// that the principal's own narrow becomes those.
func (p Principal) Covered(sets []string) []string {
	out := []string{}
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, set := range sets {
		pattern := strings.HasSuffix(set, All)
		for _, own := range p.Sets {
			switch {
			case MatchSet(own, set): // covers the name or the whole pattern
				add(set)
			case pattern && MatchSet(set, own): // the principal's is narrower
				add(own)
			}
		}
	}
	return out
}

// Key identifies the principal's rights: two principals with one key see the
// same catalog. The subject is not part of it.
func (p Principal) Key() string {
	return strings.Join(ordered(p.Scopes), "\x1f") + "\x1e" + strings.Join(ordered(p.Sets), "\x1f")
}

func ordered(names []string) []string {
	if slices.IsSorted(names) {
		return names
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}

// MatchSet reports whether a set's name fits a pattern: a name, a prefix that ends
// in "*", or "*" alone.
func MatchSet(pattern, set string) bool {
	if prefix, ok := strings.CutSuffix(pattern, All); ok {
		return strings.HasPrefix(set, prefix)
	}
	return pattern == set
}

type contextKey struct{}

// With puts the principal into a context; hooks and privacy rules read it there.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the context's principal. Without one it is the zero Principal,
// which may do nothing.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
