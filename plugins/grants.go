package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/operator"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// standing is what is configured of a plugin's place in the app.
type standing struct {
	Grants   []string // patterns of the operations that it may call, of those that its manifest asks for
	Required bool     // without it the app is not ready
}

// standingKeys are the keys of standing.
var standingKeys = map[string]func(s *standing, value string) error{
	"grants": func(s *standing, v string) (err error) {
		if s.Grants, err = operator.Strings(v); err != nil {
			return err
		}
		for _, pattern := range s.Grants {
			if !wire.ValidPattern(pattern) {
				return fmt.Errorf("must be ids of operations, such as koan::Todo.patch, or patterns such as upstream::mail::*, not %q", pattern)
			}
		}
		return nil
	},
	"required": func(s *standing, v string) (err error) {
		if s.Required, err = strconv.ParseBool(v); err != nil {
			return errors.New("must be true or false")
		}
		return nil
	},
}

// set sets one key, and reports whether it is one of standingKeys, whatever its case.
func (s *standing) set(key, value string) (known bool, err error) {
	for name, set := range standingKeys {
		if strings.EqualFold(key, name) {
			return true, set(s, value)
		}
	}
	return false, nil
}

// matches reports whether a name matches one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return operator.Match(pattern, name) })
}

// overlaps reports whether a name can match a pattern and one of the others.
func overlaps(pattern string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return operator.Overlap(pattern, other) })
}

// callsBack reports whether a plugin may call anything of the app.
func (s *standing) callsBack(m *wire.Manifest) bool {
	return slices.ContainsFunc(s.Grants, func(grant string) bool { return overlaps(grant, m.GetNeeds()) })
}

// idleGrants returns the grants for which the manifest does not ask.
func (s *standing) idleGrants(m *wire.Manifest) (idle []string) {
	for _, grant := range s.Grants {
		if !overlaps(grant, m.GetNeeds()) {
			idle = append(idle, grant)
		}
	}
	return idle
}

// unmetNeeds returns what the manifest asks for without anything of it being granted.
func (s *standing) unmetNeeds(m *wire.Manifest) (unmet []string) {
	for _, need := range m.GetNeeds() {
		if !overlaps(need, s.Grants) {
			unmet = append(unmet, bounded(need, maxListed))
		}
	}
	return unmet
}

// maxListed bounds a pattern of a manifest in messages, in bytes.
const maxListed = 100

// permit returns a fault if a plugin may not call an operation: it needs to have asked for it, and the operator
// to have granted it.
func (s *standing) permit(plugin string, m *wire.Manifest, id catalog.ID, input json.RawMessage) error {
	if tool, ok := id.NamedTool(input); ok { // what stands for another one is that one
		id = tool
	}
	name, key := id.String(), grantsKey(plugin)
	refused := func(why string) error {
		return fault.Newf(fault.Forbidden, "the plugin %s may not call %s: %s", plugin, name, why).
			WithHint("The plugin has to ask for it (`needs` of its manifest, kit.Plugin.Needs), and the operator of the app to grant it (%s).", key)
	}
	switch {
	case !matches(m.GetNeeds(), name):
		return refused("its manifest does not ask for it")
	case !matches(s.Grants, name):
		return refused(key + " does not have it")
	}
	return nil
}

func grantsKey(plugin string) string { return keyOpen + "." + plugin + ".grants" }

// noteGrants logs what is granted in vain, and what is needed and not granted.
func (s *standing) noteGrants(plugin string, m *wire.Manifest, log *slog.Logger) {
	if idle := s.idleGrants(m); len(idle) > 0 {
		log.Warn("the plugin does not ask for what is granted to it", "key", grantsKey(plugin), "grants", idle)
	}
	if unmet := s.unmetNeeds(m); len(unmet) > 0 {
		log.Info("the plugin asks to call operations that are not granted to it", "key", grantsKey(plugin), "needs", unmet)
	}
}

// needProblems returns what is wrong with what a manifest asks to call.
func needProblems(m *wire.Manifest) (problems []string) {
	if n := len(m.GetNeeds()); n > wire.MaxNeeds {
		return []string{fmt.Sprintf("it asks to call operations by %d patterns; %d are allowed", n, wire.MaxNeeds)}
	}
	for _, need := range m.GetNeeds() {
		if !wire.ValidPattern(need) {
			problems = append(problems, fmt.Sprintf("the need %q is not the id of an operation, such as koan::Todo.patch, or a pattern of ids", bounded(need, maxListed)))
		}
	}
	return problems
}
