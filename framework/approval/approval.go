// Package approval says which effects a person has to agree to before they are
// kept: modes, rules, and what they mean for what a run did.
//
// What belongs here: the policy and its decision, which is a pure function. What
// must never: how runs wait, who is asked, and by what means.
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

// Mode says of which effects somebody is asked, from nothing to everything.
type Mode string

// The modes. Destructive: deletes rows, or calls something outside that is declared
// destructive. Writes: changes anything, or has an effect outside. Always: every run
// that is not declared to read only, even one that changed nothing.
const (
	Never       Mode = "never"
	Destructive Mode = "destructive"
	Writes      Mode = "writes"
	Always      Mode = "always"
)

// Modes are all modes, the loosest first.
var Modes = []string{string(Never), string(Destructive), string(Writes), string(Always)}

// asks reports whether a mode wants to be asked of a deed.
func (m Mode) asks(d Deed) bool {
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

// What happens to rows, as Deed.Operation and Rule.Operation name it.
const (
	Create = "create"
	Update = "update"
	Delete = "delete"
)

// Deed is one thing that a run did or is about to do: a row that it changed, a call
// that it made, or, where all is empty, the run itself.
type Deed struct {
	Entity      string // of a row
	Operation   string // Create, Update or Delete of a row; the catalog ID of a call
	Writes      bool
	Destructive bool
}

// row reports whether the deed is a changed row, and not a call.
func (d Deed) row() bool { return d.Entity != "" }

// Rule sets the mode for deeds of one kind. What is empty or 0 fits everything.
type Rule struct {
	Entity    string // the entity of changed rows
	Operation string // create, update, delete, or the catalog ID of a call; a prefix ends in "*"
	Rows      int    // the rule holds for runs that change so many of these rows, or more
	Principal string // who runs: a subject, or a prefix that ends in "*"
	Mode      Mode
}

// fits reports whether a rule is about a deed, whoever did it and how often.
func (r Rule) fits(d Deed) bool {
	return (r.Entity == "" || r.Entity == d.Entity) && (r.Operation == "" || matches(r.Operation, d.Operation)) && (r.Rows == 0 || d.row())
}

func matches(pattern, s string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(s, prefix)
	}
	return pattern == s
}

// Policy is who is asked about what: the first rule that holds for a deed decides,
// and Mode where none does. The zero value asks nobody.
type Policy struct {
	Mode  Mode
	Rules []Rule
}

// Silent reports whether the policy never asks about what a principal does, whatever
// that is. floor is the least mode that the caller wants.
func (p Policy) Silent(subject string, floor Mode) bool {
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

// Asks returns the deeds that somebody has to agree to; nil where nobody has to. An
// empty Deed in it is the run itself. A call of an operation that is covered by
// transactions is asked about only where a rule names it: else its rows are.
func (p Policy) Asks(subject string, floor Mode, deeds []Deed) []Deed {
	rules := p.holding(subject, deeds)
	var out []Deed
	for _, d := range append([]Deed{{}}, deeds...) {
		if p.decide(rules, d).asks(d) || floor.asks(d) {
			out = append(out, d)
		}
	}
	return out
}

func (p Policy) decide(rules []Rule, d Deed) Mode {
	for _, r := range rules {
		if r.fits(d) {
			return r.Mode
		}
	}
	return p.Mode
}

// holding are the rules for a principal whose number of rows is reached.
func (p Policy) holding(subject string, deeds []Deed) []Rule {
	var out []Rule
	for _, r := range p.Rules {
		if !matches(cmpOr(r.Principal, "*"), subject) {
			continue
		}
		rows := 0
		for _, d := range deeds {
			if d.row() && r.fits(d) {
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
		r := Rule{Entity: record["entity"], Operation: record["operation"], Principal: record["principal"], Mode: Mode(record["mode"])}
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
