package install

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/regular"
)

// clean plans to take out what an installation has made around its entry, once nothing else is in it: the
// place for servers, and a file that has nothing but that. What was there before is known by the copies that
// installations keep; where there are none the file was new, or nothing is known of it.
func (p *plan) clean(d document) error {
	if len(d.servers()) > 0 {
		return nil
	}
	before, err := p.copyWithout(p.Entry.Name)
	if err != nil {
		return err
	}
	if before != nil {
		if before.hasList() {
			return nil
		}
		d.dropList()
		p.now = d.bytes()
		if was := before.bytes(); bytes.Equal(withoutBlanks(was), withoutBlanks(p.now)) && bytes.HasSuffix(withoutBlanks(p.now), []byte("{}")) {
			p.now = was // nothing else says which blanks an empty object had
		}
		return nil
	}
	fresh, err := p.client.open(nil)
	if err != nil {
		return err
	}
	if err := fresh.set(p.Entry.Name, nil); err != nil {
		return err
	}
	fresh.take(p.Entry.Name)
	if bytes.Equal(bytes.TrimSpace(fresh.bytes()), bytes.TrimSpace(p.now)) {
		p.gone, p.now = true, nil
	}
	return nil
}

func withoutBlanks(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// copyWithout returns the last copy of the client's file without a server, as it was before that was
// installed; nil if there is none.
func (p *plan) copyWithout(name string) (document, error) {
	copies, err := filepath.Glob(escapePattern(p.file.real) + ".koan-*")
	if err != nil {
		return nil, err
	}
	slices.Sort(copies)
	for _, path := range slices.Backward(copies) {
		raw, err := regular.ReadFile(path, maxFile)
		if err != nil {
			continue // it is somebody else's, or has gone
		}
		d, err := p.client.open(raw)
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(d.servers(), func(s server) bool { return s.name == name }) {
			return d, nil
		}
	}
	return nil, nil
}

// escapePattern returns a pattern that fits this path alone.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
