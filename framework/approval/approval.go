// Package approval decides which effects of a run a person must approve before they are
// committed: modes, rules, and their application to effects.
//
// What belongs here: the policy and its decision, which is a pure function. Not here:
// how runs wait, who is asked, and by what means.
package approval

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// Mode says which effects need approval, from none to all.
type Mode string

// The modes. Destructive: deletes rows, or calls something outside that is declared
// destructive. Writes: changes anything, or has an effect outside. Always: every run that
// is not declared read-only, even if it changed nothing; of a rule that names an operation,
// every call of it.
const (
	Never       Mode = "never"
	Destructive Mode = "destructive"
	Writes      Mode = "writes"
	Always      Mode = "always"
)

// Modes are all modes, the most permissive first.
var Modes = []string{string(Never), string(Destructive), string(Writes), string(Always)}

// needsApproval reports whether an effect needs approval in a mode.
func (m Mode) needsApproval(d Effect) bool {
	switch m {
	case Always:
		return true
	case Writes:
		return d.Writes
	case Destructive:
		return d.Destructive
	}
	return false
}

// Changes of rows, as Effect.Operation and Rule.Operation name them.
const (
	Create = "create"
	Update = "update"
	Delete = "delete"
)

// Effect is one thing that a run did or is about to do: a row that it changed, a call
// that it made, or, if all is empty, the run itself.
type Effect struct {
	Entity      string // of a row
	Operation   string // Create, Update or Delete of a row; the catalog ID of a call
	Writes      bool
	Destructive bool
}

// isRow reports whether the effect is a changed row, and not a call.
func (d Effect) isRow() bool { return d.Entity != "" }

// Rule sets the mode for effects of one kind. Members that are empty or 0 match everything.
type Rule struct {
	Entity    string // the entity of changed rows
	Operation string // create, update, delete, or the catalog ID of a call; a prefix ends in "*"
	Rows      int    // the rule applies to runs that change so many of these rows, or more
	Principal string // the caller's subject, or a prefix that ends in "*"
	Mode      Mode
}

// matches reports whether a rule is about an effect, regardless of Principal and Rows.
func (r Rule) matches(d Effect) bool {
	return (r.Entity == "" || r.Entity == d.Entity) && (r.Operation == "" || matches(r.Operation, d.Operation)) && (r.Rows == 0 || d.isRow())
}

func matches(pattern, s string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(s, prefix)
	}
	return pattern == s
}

// Policy decides what needs approval: the first rule that matches an effect, and Mode if
// none does. With the zero value nothing does.
type Policy struct {
	Mode  Mode
	Rules []Rule
	// Tainted: calls with an effect outside need approval, whatever Mode and Rules say, if
	// their input has text of an untrusted server.
	Tainted bool
}

// AllowsAll reports whether nothing that a principal does needs approval. floor is the
// least mode that the caller asks for.
func (p Policy) AllowsAll(subject string, floor Mode) bool {
	if floor != "" && floor != Never {
		return false
	}
	quiet := func(m Mode) bool { return m == Never || m == "" }
	for _, r := range p.Rules {
		if matches(cmpOr(r.Principal, "*"), subject) && !quiet(r.Mode) {
			return false
		}
	}
	return quiet(p.Mode)
}

// NeedApproval returns the effects that need approval, nil if none does. An empty Effect
// in it is the run itself. A call of an operation that is covered by transactions needs
// approval only if a rule names it: otherwise its rows do.
func (p Policy) NeedApproval(subject string, floor Mode, effects []Effect) []Effect {
	rules := p.applicableRules(subject, effects)
	var out []Effect
	for _, d := range append([]Effect{{}}, effects...) {
		if p.decide(rules, d).needsApproval(d) || floor.needsApproval(d) {
			out = append(out, d)
		}
	}
	return out
}

// AlwaysByName reports whether every call of an operation needs approval, whatever it or its
// plugin says of its effects: the rule that decides names it, with mode Always.
func (p Policy) AlwaysByName(subject, operation string) bool {
	call := []Effect{{Operation: operation}}
	for _, r := range p.applicableRules(subject, call) {
		if r.matches(call[0]) {
			return r.Mode == Always && r.Names(operation)
		}
	}
	return false
}

func (p Policy) decide(rules []Rule, d Effect) Mode {
	for _, r := range rules {
		if r.matches(d) {
			return r.Mode
		}
	}
	return p.Mode
}

// applicableRules returns the rules for a principal whose number of rows is reached.
func (p Policy) applicableRules(subject string, effects []Effect) []Rule {
	var out []Rule
	for _, r := range p.Rules {
		if !matches(cmpOr(r.Principal, "*"), subject) {
			continue
		}
		rows := 0
		for _, d := range effects {
			if d.isRow() && r.matches(d) {
				rows++
			}
		}
		if rows >= r.Rows {
			out = append(out, r)
		}
	}
	return out
}

// Names reports whether some rule names an operation by its catalog ID, so that calls
// of it are looked at although transactions cover them.
func (p Policy) Names(operation string) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Names(operation) })
}

// Names reports whether the rule names an operation by its catalog ID.
func (r Rule) Names(operation string) bool {
	return strings.Contains(r.Operation, "::") && matches(r.Operation, operation)
}

func cmpOr(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// operationPattern returns a rule's operation in the form of catalog IDs. Tools of servers may
// be written as functions of plugins are: "upstream::github.*" is "upstream::github::*".
func operationPattern(s string) string {
	const prefix = "upstream::"
	if rest, ok := strings.CutPrefix(s, prefix); ok {
		if server, tool, ok := strings.Cut(rest, "."); ok && !strings.Contains(server, "::") {
			return prefix + server + "::" + tool
		}
	}
	return s
}

// ruleMembers are the members of a rule in the configuration.
var ruleMembers = []string{"entity", "operation", "rows", "principal", "mode"}

// ParseRules reads the rules of the configuration: each a mapping of entity,
// operation, rows, principal (all optional) and mode. The error names every
// problem, with the number of its rule.
func ParseRules(records []map[string]string) ([]Rule, error) {
	var out []Rule
	var wrong []error
	for i, record := range records {
		bad := func(format string, args ...any) {
			wrong = append(wrong, fmt.Errorf("rule %d: %s", i+1, fmt.Sprintf(format, args...)))
		}
		r := Rule{Entity: record["entity"], Operation: operationPattern(record["operation"]), Principal: record["principal"], Mode: Mode(record["mode"])}
		for _, name := range slices.Sorted(maps.Keys(record)) {
			if !slices.Contains(ruleMembers, name) {
				bad("there is no %q%s", name, fault.DidYouMean(name, ruleMembers))
			}
		}
		switch {
		case r.Mode == "":
			bad("mode is missing; it must be one of %s", strings.Join(Modes, ", "))
		case !slices.Contains(Modes, string(r.Mode)):
			bad("mode must be one of %s, not %q%s", strings.Join(Modes, ", "), r.Mode, fault.DidYouMean(string(r.Mode), Modes))
		}
		if rows, ok := record["rows"]; ok {
			n, err := strconv.Atoi(rows)
			if err != nil || n < 1 {
				bad("rows must be a whole number of at least 1, not %q", rows)
			}
			r.Rows = n
		}
		rowOps := []string{Create, Update, Delete}
		if op := r.Operation; op != "" && op != "*" && !strings.Contains(op, "::") && !slices.Contains(rowOps, op) {
			bad("operation must be create, update, delete or an id such as koan::Todo.delete-many, not %q%s", op, fault.DidYouMean(op, rowOps))
		}
		if strings.Contains(r.Operation, "::") && (r.Entity != "" || r.Rows > 0) {
			bad("an operation's id excludes entity and rows, which are about changed rows")
		}
		out = append(out, r)
	}
	return out, errors.Join(wrong...)
}
