package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// required returns the plugins without which the app is not ready: those of plugins.required, and those of which
// plugins.<domain>.required says so.
func (p *Provider) required() []string {
	names := slices.Clone(p.host.Settings().Strings(keyRequired))
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, c := range p.given {
		if c.Required && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Ready implements catalog.Readier: the plugins that are required have to run.
func (p *Provider) Ready(context.Context) error {
	var problems []error
	for _, name := range p.required() {
		p.mu.Lock()
		pl := p.current[name]
		p.mu.Unlock()
		if pl == nil {
			problems = append(problems, fault.Newf(fault.PluginUnavailable, "there is no plugin %s", name))
			continue
		}
		switch s := pl.state(); {
		case s.yields != "":
			problems = append(problems, fault.Newf(fault.PluginUnavailable, "the plugin %s is not offered: its name is that of %s", name, s.yields))
		case s.proc == nil || !s.proc.ready():
			problems = append(problems, fault.Newf(fault.PluginUnavailable, "the plugin %s is not running", name).Because(s.failure))
		case s.proc.unwell():
			problems = append(problems, fault.Newf(fault.PluginUnavailable, "the plugin %s does not answer", name))
		}
	}
	return errors.Join(problems...)
}

// absent returns a failed check for each required plugin that is not among the checks.
func absent(required []string, dir string, checks []catalog.Check) []catalog.Check {
	var out []catalog.Check
	for _, name := range required {
		check := catalog.Check{
			Name: checkName(name), Detail: fmt.Sprintf("%s lists it, but there is no such plugin in %s", keyRequired, dir),
			Hint: "Build it into that folder, or remove it from " + keyRequired + ".",
		}
		same := func(other catalog.Check) bool { return other.Name == check.Name }
		if !slices.ContainsFunc(checks, same) && !slices.ContainsFunc(out, same) {
			out = append(out, check)
		}
	}
	return out
}
