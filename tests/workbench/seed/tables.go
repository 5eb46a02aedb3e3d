// Package seed fills the WorkBench app's default set from the tables of the data set.
//
// What belongs here: reading the tables, and their rows as entities. Not here: a
// row that is in no table.
package seed

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// Key is the key of the configuration that names the folder of the tables.
const Key = "workbench.data"

// Tables is the folder of the tables, as an app's configuration names it. It is a
// provider, before the entities: they start with filling their set.
type Tables struct{ folder string }

var (
	_ catalog.Provider     = (*Tables)(nil)
	_ catalog.Configurable = (*Tables)(nil)
)

// Name implements catalog.Provider.
func (t *Tables) Name() string { return "workbench" }

// Settings implements catalog.Configurable.
func (t *Tables) Settings() []catalog.Setting {
	return []catalog.Setting{{Key: Key, Default: "../shared/workbench/tables", Help: "folder of the tables that the default set begins with"}}
}

// Start implements catalog.Provider.
func (t *Tables) Start(_ context.Context, host catalog.Host) error {
	t.folder = host.Settings().String(Key)
	return nil
}

// Offer implements catalog.Provider.
func (t *Tables) Offer() catalog.Offer { return catalog.Offer{} }

// Stop implements catalog.Provider.
func (t *Tables) Stop(context.Context) error { return nil }

// row is one line of a table.
type row struct {
	place  string   // for errors: "events.csv, line 3"
	header []string // names of the columns, by their order
	values []string
	wrong  *[]error
}

// text returns the value of a column.
func (r row) text(column string) string {
	i := slices.Index(r.header, column)
	if i < 0 {
		r.refuse(column, "there is no such column")
		return ""
	}
	return r.values[i]
}

// optional returns the value of a column, nil where it is empty.
func (r row) optional(column string) *string {
	if v := r.text(column); v != "" {
		return &v
	}
	return nil
}

// refuse notes what is wrong with a value.
func (r row) refuse(column string, problem any) {
	*r.wrong = append(*r.wrong, fmt.Errorf("%s, column %s: %v", r.place, column, problem))
}

// read returns what each takes each line of a table for; header names the columns of a
// table that does not itself.
func read[T any](t *Tables, file string, header []string, each func(r row, line int) T) ([]T, error) {
	raw, err := os.ReadFile(filepath.Join(t.folder, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; %s must name the folder of WorkBench's tables", err, Key)
	}
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if header == nil {
		if len(lines) == 0 {
			return nil, fmt.Errorf("%s is empty", file)
		}
		header, lines = lines[0], lines[1:]
	}
	var wrong []error
	out := make([]T, len(lines))
	for i, values := range lines {
		out[i] = each(row{place: fmt.Sprintf("%s, row %d", file, i+1), header: header, values: values, wrong: &wrong}, i+1)
	}
	return out, errors.Join(wrong...)
}
