package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
)

// listing is one way in which a client is shown an app.
type listing struct {
	name  string
	mode  exposure.Mode
	style string
}

var (
	sizes     = []int{3, 12, 50, 200}
	perEntity = listing{"a tool each", exposure.Tools, "perEntity"}
	generic   = listing{"generic", exposure.Tools, "generic"}
	full      = listing{"full", exposure.Full, "auto"}
	code      = listing{"code", exposure.Code, "auto"}
	listings  = []listing{perEntity, generic, full, code}
)

// list is what tools/list returns.
func (l listing) list(s *catalog.Snapshot) json.RawMessage {
	return koantest.Tools(s.View(auth.Local(), l.mode, false), l.style)
}

// defined is what tools/list costs in each form, for an app of so many entities.
type defined struct {
	entities int
	tokens   map[listing]int
	python   int // of code, in an app whose scripts are in Python
}

func definitions(c counter, s *catalog.Snapshot, sizes []int, listings []listing) ([]defined, error) {
	var out []defined
	for _, n := range sizes {
		grown, err := grow(s, n)
		if err != nil {
			return nil, err
		}
		d := defined{entities: n, tokens: map[listing]int{}}
		for _, l := range listings {
			if d.tokens[l], err = c.count(l.list(grown)); err != nil {
				return nil, err
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// addPython counts what the same apps cost whose scripts are in Python.
func addPython(c counter, list []defined, plugins, sample string) error {
	app, stop, err := pantrypal(plugins, sample, python)
	if err != nil {
		return err
	}
	defer stop()
	for i, d := range list {
		same, err := definitions(c, app.Snapshot(), []int{d.entities}, []listing{code})
		if err != nil {
			return err
		}
		list[i].python = same[0].tokens[code]
	}
	return nil
}

// grow makes an app of n entities out of PantryPal's: its own first, then again
// with a number behind each name. The plugin stays as it is.
func grow(s *catalog.Snapshot, n int) (*catalog.Snapshot, error) {
	var o catalog.Offer
	for _, op := range s.Operations() {
		if op.Resource == "" {
			o.Operations = append(o.Operations, op)
		}
	}
	for i := range n {
		r := s.Resources()[i%len(s.Resources())]
		rename := renamer(s, i/len(s.Resources()))
		copied := &catalog.Resource{}
		if err := again(r, copied, rename); err != nil {
			return nil, err
		}
		o.Resources = append(o.Resources, copied)
		for _, op := range s.Operations() {
			if op.Resource != r.Name {
				continue
			}
			named := *op
			named.ID = catalog.EntityID(copied.Name, op.ID.Op)
			named.Resource = copied.Name
			named.Title, named.Summary = rename(op.Title), rename(op.Summary)
			named.Input, named.Output = json.RawMessage(rename(string(op.Input))), json.RawMessage(rename(string(op.Output)))
			o.Operations = append(o.Operations, &named)
		}
	}
	return catalog.NewSnapshot(o)
}

// renamer puts a number behind the names of entities; 0 leaves them.
func renamer(s *catalog.Snapshot, round int) func(string) string {
	if round == 0 {
		return func(text string) string { return text }
	}
	names := ""
	for i, r := range s.Resources() {
		if i > 0 {
			names += "|"
		}
		names += r.Name
	}
	whole := regexp.MustCompile(`\b(?:` + names + `)\b`)
	return func(text string) string {
		return whole.ReplaceAllStringFunc(text, func(name string) string { return name + strconv.Itoa(round+1) })
	}
}

// again copies a resource with its names changed.
func again(from, to *catalog.Resource, rename func(string) string) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(rename(string(raw))), to); err != nil {
		return fmt.Errorf("%s does not copy: %w", from.Name, err)
	}
	return nil
}
