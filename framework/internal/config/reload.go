package config

import (
	"maps"
	"reflect"
	"slices"
)

// With returns c with the live keys of next, a configuration of the same app that was
// read later. live names the keys that differ and take effect, later those that differ
// and wait for the next start.
func (c *Config) With(next *Config) (merged *Config, live, later []string) {
	old, fresh := c.now.Load(), next.now.Load()
	to := state{values: maps.Clone(old.values), origin: maps.Clone(old.origin), free: maps.Clone(old.free)}
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		s := c.settings[key]
		if s.Open {
			continue
		}
		same := reflect.DeepEqual(old.values[key], fresh.values[key])
		switch {
		case !s.Live && !same:
			later = append(later, key)
		case s.Live:
			if !same {
				live = append(live, key)
			}
			to.values[key] = fresh.values[key]
			delete(to.origin, key)
			if from := fresh.origin[key]; from != "" {
				to.origin[key] = from
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(joined(old.free, fresh.free))) {
		was, had := old.free[key]
		is, has := fresh.free[key]
		above, _ := c.open(key)
		switch {
		case had == has && was == is:
		case !above.Live:
			later = append(later, key)
		default:
			live = append(live, key)
			delete(to.free, key)
			delete(to.origin, key)
			if has {
				to.free[key], to.origin[key] = is, fresh.origin[key]
			}
		}
	}
	merged = &Config{settings: c.settings, state: to}
	merged.now.Store(&merged.state)
	return merged, live, later
}

func joined(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// Take makes readers of c see the values of merged.
func (c *Config) Take(merged *Config) { c.now.Store(merged.now.Load()) }
