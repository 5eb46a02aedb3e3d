package plugins

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/plugins/internal/lock"
	"github.com/koan-go/koan/plugins/internal/operator"
	"github.com/koan-go/koan/plugins/internal/reference"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// settingsGroup is the key below which a plugin's own settings stand. One whose key is not the
// operator's may stand beside it, too.
const settingsGroup = "settings."

// defaultMaxParallel is how many calls of a plugin are in flight where nothing is configured.
const defaultMaxParallel = 16

// configuration is what is configured of one plugin.
type configuration struct {
	operator.Rules
	standing
	isolation isolation
	given     []setting // the plugin's own, as they are written; a later one replaces an earlier one
}

// setting is one setting as it is written.
type setting struct{ key, value string }

func (c *configuration) equal(other *configuration) bool { return reflect.DeepEqual(c, other) }

// newConfiguration returns what holds of a plugin of which nothing is configured. The plugins
// of the folder are the app's own, so their declarations are believed; those that koan.lock lists were
// brought from elsewhere.
func newConfiguration(name string, brought *lock.File) *configuration {
	_, listed := brought.Plugins[name]
	return &configuration{Rules: operator.Rules{Trust: !listed}}
}

// parse reads the keys of one plugin, relative to plugins.<domain>, over what c has.
func (c *configuration) parse(keys map[string]string) error {
	var problems []error
	var direct []setting
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		value := keys[key]
		known, err := c.set(key, value)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s %w", key, err))
		case known:
		case len(key) > len(settingsGroup) && strings.EqualFold(key[:len(settingsGroup)], settingsGroup):
			c.given = append(c.given, setting{key[len(settingsGroup):], value})
		default:
			direct = append(direct, setting{key, value})
		}
	}
	c.given = append(c.given, direct...)
	return errors.Join(problems...)
}

// set sets one key that is the operator's, and reports whether it is.
func (c *configuration) set(key, value string) (known bool, err error) {
	for _, set := range []func(key, value string) (bool, error){c.isolation.set, c.standing.set} {
		if known, err := set(key, value); known {
			return true, err
		}
	}
	return c.Rules.Set(key, value)
}

// operatorKeys are the keys that are the operator's.
func operatorKeys() []string {
	return slices.AppendSeq(slices.AppendSeq(operator.Keys(), maps.Keys(isolationKeys)), maps.Keys(standingKeys))
}

// checkKey checks one key below "plugins", relative to it, as far as that is possible before
// any plugin has started.
func checkKey(key, value string) error {
	_, rest, _ := strings.Cut(key, ".")
	_, err := new(configuration).set(rest, value)
	return err
}

// configurations are those of all plugins, by the names of their files.
type configurations map[string]*configuration

// of returns what is configured of the plugin of a file, also of one that has come since the
// configuration was read.
func (c configurations) of(name string, brought *lock.File) *configuration {
	if own := c[name]; own != nil {
		return own
	}
	return newConfiguration(name, brought)
}

// readConfigurations sorts the keys below "plugins" by plugin. A key that belongs to no plugin is
// an error, unless koan.lock lists the plugin; whether a plugin has a setting is checked later, by its manifest.
func readConfigurations(v catalog.Values, dir string, plugins []string, brought *lock.File) (configurations, error) {
	plugins = slices.Clone(plugins)
	for name := range brought.Plugins { // one that is missing is named by doctor, and may come
		if !slices.Contains(plugins, name) {
			plugins = append(plugins, name)
		}
	}
	byPlugin := map[string]map[string]string{}
	var problems []string
	for key, value := range v.Under(keyOpen) {
		name, rest := ownerOfKey(key, plugins)
		if name == "" {
			domain, _, _ := strings.Cut(key, ".")
			problems = append(problems, fmt.Sprintf("%s.%s: there is no plugin %q in %s%s", keyOpen, key, domain, dir, fault.DidYouMean(domain, plugins)))
			continue
		}
		if byPlugin[name] == nil {
			byPlugin[name] = map[string]string{}
		}
		byPlugin[name][rest] = value
	}
	out := configurations{}
	for _, name := range plugins {
		c := newConfiguration(name, brought)
		if err := c.parse(byPlugin[name]); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				problems = append(problems, keyOpen+"."+name+"."+line)
			}
		}
		out[name] = c
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return out, nil
}

// ownerOfKey returns the plugin that a key below "plugins" is of, and the rest of the key; "" if
// there is none. A variable of the environment has "." in place of "-": of several plugins, the
// one with the longest name is meant.
func ownerOfKey(key string, plugins []string) (name, rest string) {
	if domain, rest, ok := strings.Cut(key, "."); ok && slices.Contains(plugins, domain) {
		return domain, rest
	}
	for _, p := range plugins {
		if after, ok := strings.CutPrefix(key, strings.ReplaceAll(p, "-", ".")+"."); ok && len(p) > len(name) {
			name, rest = p, after
		}
	}
	return name, rest
}

// checkSettings fills in the manifest's defaults and rejects keys that it does not have.
func checkSettings(name string, m *wire.Manifest, given []setting) (map[string]string, error) {
	out := map[string]string{}
	var known, problems []string
	for _, s := range m.GetSettings() {
		known = append(known, s.GetKey())
		out[s.GetKey()] = s.GetDefaultValue()
	}
	for _, g := range given {
		key := declaredKey(g.key, known)
		if key == "" {
			problems = append(problems, fmt.Sprintf("%s.%s.%s: the plugin has no such setting%s", keyOpen, name, g.key, fault.DidYouMean(g.key, append(known, operatorKeys()...))))
			continue
		}
		out[key] = g.value
	}
	if len(problems) > 0 {
		return nil, &configurationError{why: strings.Join(problems, "; ")}
	}
	return out, nil
}

// resolveSettings replaces the references in settings, and returns the values that are secrets:
// those of references, and of settings which the manifest declares secret or which are called so. A
// default is not one,
// and short ones would occur in unrelated words.
func resolveSettings(name string, m *wire.Manifest, written map[string]string) (out map[string]string, secrets []string, err error) {
	out = map[string]string{}
	var problems []string
	for _, s := range m.GetSettings() {
		key := s.GetKey()
		if written[key] == s.GetDefaultValue() {
			out[key] = written[key]
			continue
		}
		value, referred, err := reference.Expand(written[key])
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s.%s.%s: %s", keyOpen, name, key, strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
		out[key], secrets = value, append(secrets, referred...)
		if s.GetSecret() || journal.SecretSetting(key, value) {
			secrets = append(secrets, value)
		}
	}
	if len(problems) > 0 {
		return nil, nil, &configurationError{why: strings.Join(problems, "; "), again: true}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < journal.LeastValue })
	return out, secrets, nil
}

// foldersOf returns the absolute paths of the folders that a plugin reads by its settings: those that the
// operator has named, and defaults of a plugin whose declarations are believed. What is not there the plugin
// will miss itself.
func (c *configuration) foldersOf(m *wire.Manifest, settings map[string]string) (out []string) {
	for _, s := range m.GetSettings() {
		value := settings[s.GetKey()]
		if !s.GetFolder() || value == s.GetDefaultValue() && !c.Trust {
			continue
		}
		// The working directory of a service is often the root of all: that is nobody's folder.
		if path, err := filepath.Abs(value); err == nil && (path != "/" || value != "") {
			if _, err := os.Stat(path); err == nil {
				out = append(out, path)
			}
		}
	}
	return out
}

// declaredKey returns the declared setting that a key means, "" for none. Variables of the
// environment have no case, and "." for other marks.
func declaredKey(key string, declared []string) string {
	if slices.Contains(declared, key) {
		return key
	}
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", ".", "_", ".").Replace(s)) }
	for _, d := range declared {
		if plain(d) == plain(key) {
			return d
		}
	}
	return ""
}
