// Package entschema serves folders of ent schemas for which no code was generated (CONTRACT section 12). The
// functions of the schemas that make defaults and check values run in a process that is built from
// them; hooks, interceptors and privacy policies need generated code, and are said not to run.
//
// What belongs here: how such a folder becomes an app. Not here: what schemas mean, which
// package entgen says, and how their rows are read and written.
package entschema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/entgen"
	"github.com/koan-go/koan/entities/internal/dynamic"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
)

// functions are those of the schemas that are called.
type functions struct {
	*process // nil where there are none
}

// Open loads the schemas of a folder. It needs the go command. Its errors are faults that say what is wrong
// with the folder; those of annotations name every schema and field.
func Open(ctx context.Context, dir string) (*entities.Schemas, error) {
	at, err := find(dir)
	if err != nil {
		return nil, err
	}
	g, err := at.graph(ctx)
	if err != nil {
		return nil, err
	}
	d, err := entgen.Describe(g)
	if err != nil {
		return nil, at.trouble(err.Error(), err)
	}
	var f functions
	if len(d.Made)+len(d.Checked) > 0 {
		if f.process, err = at.build(ctx, g.Schema, names(d)); err != nil {
			return nil, err
		}
	}
	return &entities.Schemas{
		Name: filepath.Base(at.root), Place: at.dir, NotServed: d.NotServed, NotRun: d.NotRun, Close: f.stop,
		App: dynamic.App(d.Graph, dynamic.Options{Tables: d.Tables, SchemaHash: d.Hash, Constants: true, Fill: f.fill(d), Checks: f.checks(d)}),
	}, nil
}

// names returns the schemas whose functions are called.
func names(d *entgen.Description) (out []string) {
	for _, m := range d.Made {
		out = append(out, m.Schema)
	}
	for _, c := range d.Checked {
		out = append(out, c.Schema)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fill returns the functions that make values.
func (f functions) fill(d *entgen.Description) map[string]dynamic.Fill {
	out := map[string]dynamic.Fill{}
	for _, m := range d.Made {
		if out[m.Schema].Create == nil {
			out[m.Schema] = dynamic.Fill{Create: map[string]dynamic.Maker{}, Update: map[string]dynamic.Maker{}}
		}
		column, field := columnOf(d, m.SchemaField)
		maker := func(do string) dynamic.Maker {
			return func() (any, error) {
				a, err := f.ask(question{Do: do, Schema: m.Schema, Field: m.Field})
				if err != nil {
					return nil, err
				}
				return valueOf(column, field, a.Value)
			}
		}
		if m.Create {
			out[m.Schema].Create[m.Column] = maker("create")
		}
		if m.Update {
			out[m.Schema].Update[m.Column] = maker("update")
		}
	}
	return out
}

// columnOf returns the column and the field of a schema's field.
func columnOf(d *entgen.Description, at entgen.SchemaField) (*descriptor.Column, *catalog.Field) {
	e := d.Graph.Entity(at.Schema)
	if e.Key.Name == at.Column {
		return &e.Key, &e.Resource.Key
	}
	i := slices.IndexFunc(e.Columns, func(c descriptor.Column) bool { return c.Name == at.Column })
	return &e.Columns[i], e.Resource.Field(e.Columns[i].Field)
}

// valueOf returns the value that a function made as the converters of package shim take it.
func valueOf(c *descriptor.Column, f *catalog.Field, raw json.RawMessage) (any, error) {
	if f.Type == catalog.TypeJSON {
		return raw, nil
	}
	v, err := filter.Decode(raw)
	if err != nil {
		return nil, err
	}
	value, problem := filter.Value(c, f, v, "")
	if problem != nil {
		return nil, errors.New(problem.Message)
	}
	return value, nil
}

// checks returns the functions that check values.
func (f functions) checks(d *entgen.Description) map[string]map[string]func(any) error {
	out := map[string]map[string]func(any) error{}
	for _, c := range d.Checked {
		if out[c.Schema] == nil {
			out[c.Schema] = map[string]func(any) error{}
		}
		out[c.Schema][c.Column] = func(v any) error {
			raw, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("it cannot be checked: %w", err)
			}
			a, err := f.ask(question{Do: "check", Schema: c.Schema, Field: c.Field, Value: raw})
			if err == nil && a.Refused != "" {
				err = reasonOf(a.Refused)
			}
			return err
		}
	}
	return out
}
