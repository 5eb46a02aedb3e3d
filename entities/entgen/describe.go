package entgen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
)

// Description is what schemas say about their entities, for entities without generated code.
type Description struct {
	Graph  *descriptor.Graph
	Tables []*schema.Table
	Hash   int32 // of everything that a migration looks at
	// Made are the values that functions of the schemas make.
	Made []Made
	// Checked are the fields that functions of the schemas check.
	Checked []SchemaField
	// NotServed says of schemas, and of fields, why callers do not see them.
	NotServed []shim.Remark
	// NotRun says of schemas which of their code has no part in what is served: "2 hooks".
	NotRun []shim.Remark
}

// SchemaField is a field of an exposed schema.
type SchemaField struct {
	Schema, Field string // ent's names
	Column        string
	Storage       descriptor.Storage
}

// Made is a field whose value a function makes.
type Made struct {
	SchemaField
	Create, Update bool
}

// Describe describes the schemas of a graph: those with the annotation expose.Entity or, where none has it, all
// that can have it. What only generated code can do is left out, and said. Its error names what is
// wrong with annotated schemas.
func Describe(g *gen.Graph) (*Description, error) {
	d := &Description{}
	if !anyExposed(g) {
		d.exposeAll(g)
	}
	d.hideRuled(g)
	if anyExposed(g) {
		d.hideCoded(g)
	}
	if len(d.NotServed) > 0 && !anyExposed(g) {
		return nil, d.nothing()
	}
	m, err := newModel(g)
	if err != nil {
		return nil, err
	}
	if d.Tables, err = g.Tables(); err != nil {
		return nil, err
	}
	d.Hash = m.hash
	var entities []*descriptor.Entity
	for _, k := range m.kinds {
		if k.Entity == nil {
			continue
		}
		k.Entity.Hooked = false // none of its hooks runs
		d.leaveOut(k)
		d.readCode(k)
		entities = append(entities, k.Entity)
	}
	d.Graph = descriptor.NewGraph(entities...)
	return d, nil
}

func anyExposed(g *gen.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *gen.Type) bool { return n.Annotations[expose.EntityName] != nil })
}

// nothing is the error of schemas of which none can be served.
func (d *Description) nothing() error {
	var b strings.Builder
	b.WriteString("none of the schemas can be served without generated code:")
	for _, r := range d.NotServed {
		fmt.Fprintf(&b, "\n  %s: %s", r.Name, r.Text)
	}
	return errors.New(b.String())
}

// exposeAll annotates all schemas that can be exposed.
func (d *Description) exposeAll(g *gen.Graph) {
	obstacles := Obstacles(g)
	for _, n := range g.Nodes {
		if why := obstacles[n.Name]; len(why) > 0 {
			d.notServed(n.Name, why[0])
			continue
		}
		annotate(n)
	}
}

func annotate(n *gen.Type) {
	if n.Annotations == nil {
		n.Annotations = gen.Annotations{}
	}
	n.Annotations[expose.EntityName] = expose.Entity{}
}

// hideRuled hides schemas with a privacy policy: nobody would apply it.
func (d *Description) hideRuled(g *gen.Graph) {
	for _, n := range g.Nodes {
		if n.NumPolicy() > 0 && n.Annotations[expose.EntityName] != nil {
			delete(n.Annotations, expose.EntityName)
			d.notServed(n.Name, "its privacy policy is code, which runs in a generated app only")
		}
	}
	d.hideDependents(g)
}

// hideCoded hides schemas whose ids, or required fields, are kept in a form that only their code knows.
func (d *Description) hideCoded(g *gen.Graph) {
	m := &model{graph: g}
	m.read()
	if len(m.problems) > 0 {
		return // newModel reports them
	}
	for _, k := range m.kinds {
		if k.Entity == nil {
			continue
		}
		why := ""
		if k.IDForm.Form != "" {
			why = "its ids are kept in a form of the type " + k.ID.Type.String() + ", which runs in a generated app only"
		}
		for _, s := range k.SetFields {
			if f := k.Entity.Resource.Field(s.Field); s.Field != "" && f.Required {
				why = "its required field " + s.Field + " is kept in a form of its own Go type, which runs in a generated app only"
			}
		}
		if why != "" {
			delete(k.Annotations, expose.EntityName)
			d.notServed(k.Name, why)
		}
	}
	d.hideDependents(g)
}

// hideDependents hides what nobody could create any more, since it requires what is hidden.
func (d *Description) hideDependents(g *gen.Graph) {
	for again := true; again; {
		again = false
		for _, n := range g.Nodes {
			if n.Annotations[expose.EntityName] == nil {
				continue
			}
			for _, e := range n.Edges {
				if !e.Optional && e.Type.Annotations[expose.EntityName] == nil {
					delete(n.Annotations, expose.EntityName)
					d.notServed(n.Name, "it requires "+e.Name+", and "+e.Type.Name+" is not served")
					again = true
					break
				}
			}
		}
	}
}

// leaveOut takes out of an entity the fields that are kept in a form which only their code knows.
func (d *Description) leaveOut(k kind) {
	r := &k.Entity.Resource
	for _, s := range k.SetFields {
		if s.Field == "" {
			continue
		}
		d.notServed(k.Name+"."+s.Field, "it is kept in a form of its own Go type, which runs in a generated app only")
		r.Fields = slices.DeleteFunc(r.Fields, func(f catalog.Field) bool { return f.Name == s.Field })
		k.Entity.Columns = slices.DeleteFunc(k.Entity.Columns, func(c descriptor.Column) bool { return c.Field == s.Field })
	}
}

// readCode notes what functions make and check, and what does not run.
func (d *Description) readCode(k kind) {
	for _, f := range append([]*gen.Field{k.ID}, k.Fields...) {
		at := SchemaField{Schema: k.Name, Field: f.Name, Column: f.StorageKey()}
		if f != k.ID {
			i := slices.IndexFunc(k.Entity.Columns, func(c descriptor.Column) bool { return c.Name == at.Column })
			if i < 0 {
				continue
			}
			at.Storage = k.Entity.Columns[i].Storage
		} else {
			at.Storage = k.Entity.Key.Storage
		}
		if made := (Made{at, f.Default && f.DefaultFunc(), f.UpdateDefault}); made.Create || made.Update {
			d.Made = append(d.Made, made)
		}
		if f.Validators > 0 {
			d.Checked = append(d.Checked, at)
		}
	}
	for _, c := range []struct {
		n    int
		what string
	}{{k.NumHooks(), "hook"}, {k.NumInterceptors(), "interceptor"}} {
		if c.n > 0 {
			d.NotRun = append(d.NotRun, shim.Remark{Name: k.Name, Text: fmt.Sprintf("%d %s%s", c.n, c.what, map[bool]string{true: "s"}[c.n > 1])})
		}
	}
}

func (d *Description) notServed(name, why string) {
	d.NotServed = append(d.NotServed, shim.Remark{Name: name, Text: why})
}
