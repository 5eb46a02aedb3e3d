package catalog

import "github.com/koan-go/koan/framework/auth"

// The scopes that operations with an effect need if they declare none, so that a token
// without scopes changes nothing.
const (
	ScopeWrite = "entities:write" // of an entity
	ScopeCall  = "plugins:call"   // of a plugin or an upstream server
	ScopeAct   = "actions:call"   // of an action
)

var (
	writeScopes = []string{ScopeWrite}
	callScopes  = []string{ScopeCall}
	actScopes   = []string{ScopeAct}
)

// Guard returns the scopes for changing something: the declared ones, else the standard
// one of a kind of operation.
func Guard(kind Kind, declared []string) []string {
	if len(declared) > 0 {
		return declared
	}
	switch kind {
	case KindEntity:
		return writeScopes
	case KindPlugin, KindUpstream:
		return callScopes
	case KindAction:
		return actScopes
	case KindCode: // what a script may do is decided call by call
	}
	return nil
}

// Needs returns the scopes that a call needs, all of them. It is the one place that
// decides this: lists, types, schemas, validation and calls use it.
func (op *Operation) Needs() []string {
	if op.Effects.ReadOnly || len(op.Scopes) > 0 {
		return op.Scopes
	}
	if op.Nested && op.ID.Kind == KindEntity { // what it may do is decided call by call
		return nil
	}
	return Guard(op.ID.Kind, nil)
}

// allows reports whether a principal's scopes cover an operation.
func allows(p auth.Principal, op *Operation) bool { return p.Missing(op.Needs()) == "" }
