//go:build !linux

package python

func filters() map[string]string { return nil }
