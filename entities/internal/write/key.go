package write

import (
	"maps"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/fold"
)

// keyFilter returns the filter that finds the entity with a unique key.
func keyFilter(e *descriptor.Entity, key map[string]any) map[string]any {
	return overFolded(e, key, func(v any) any { return map[string]any{"$ieq": v} })
}

// foldedKey returns a unique key in the form in which two of them are the same.
func foldedKey(e *descriptor.Entity, key map[string]any) map[string]any {
	return overFolded(e, key, func(v any) any {
		if s, ok := v.(string); ok {
			return fold.Text(s)
		}
		return v
	})
}

// overFolded returns a key with other values for the fields whose case keys ignore.
func overFolded(e *descriptor.Entity, key map[string]any, as func(any) any) map[string]any {
	if len(e.FoldedKeys) == 0 {
		return key
	}
	out := maps.Clone(key)
	for name, v := range key {
		if c := e.Column(name); v != nil && c != nil && c.Folds(descriptor.FoldsKey) {
			out[name] = as(v)
		}
	}
	return out
}
