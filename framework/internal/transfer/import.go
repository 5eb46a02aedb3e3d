package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// maxProblems is how many rows are named that cannot be stored; the import ends at the next one.
const maxProblems = 100

// Import is how rows are taken in.
type Import struct {
	Job
	// Open returns the file from its beginning: a run may begin again.
	Open   func() (io.ReadCloser, error)
	Upsert bool // rows that are there are changed; else they are conflicts
	DryRun bool // everything is checked, hooks run, and nothing is kept
}

// Imported is what an import did.
type Imported struct {
	Entity string `json:"entity"`
	Set    string `json:"set"`
	Rows   int    `json:"rows"`
	// Skipped is how many lines name another entity.
	Skipped int `json:"skipped,omitempty"`
	// LeftOut are the fields of the file that nobody writes.
	LeftOut []string `json:"leftOut,omitempty"`
	// Problems are those of a failure, as far as they are named.
	Problems []fault.Detail `json:"-"`
	failed   int            // rows that have them
}

// Run stores the rows of the file as one run, or none of them. The fault of rows that cannot be stored has the
// problems of all as details, each with its line.
func (m Import) Run(ctx context.Context) (*Imported, *run.Outcome, error) {
	by := "create"
	if m.Upsert {
		by = "upsert"
	}
	r, err := m.resource(by)
	if err != nil {
		return nil, nil, err
	}
	m.Entity = r.Name
	var out *Imported
	op := operation("import", catalog.Effects{Destructive: true}, func(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
		out = &Imported{Entity: r.Name, Set: m.set()}
		err := m.store(ctx, call, r, catalog.EntityID(r.Name, by), out)
		if err == nil && len(out.Problems) > 0 {
			err = out.fault()
		}
		return json.RawMessage("null"), err
	})
	outcome, err := m.Engine.Do(ctx, m.request(), op, m.DryRun)
	if out != nil && fault.CodeOf(err) == fault.MemoryExceeded {
		err = out.tooMuch(fault.From(err))
	}
	return out, outcome, err
}

// tooMuch is the failure of an import whose rows one run cannot hold. It may be tried again only where other runs are in its way.
func (o *Imported) tooMuch(f *fault.Fault) error {
	if f.Retry == fault.Safe {
		return f
	}
	return fault.Newf(f.Code, "%s: the import ended with row %d, and stored none", f.Message, o.Rows).WithDetails(f.Details).Because(f).
		WithHint("Split the file, and import each part as a run of its own. Or give this import more memory, such as --run.maxBytes 400000000.")
}

// fault is the failure of an import, with all problems.
func (o *Imported) fault() error {
	many := fmt.Sprintf("%d of %d rows", o.failed, o.Rows)
	if len(o.Problems) >= maxProblems { // the others were not looked at
		many = fmt.Sprintf("%d of the first %d rows", o.failed, o.Rows)
	}
	return fault.New(fault.InvalidPayload, many+" cannot be stored, so none is").WithDetails(o.Problems).
		WithHint("The details name each line and what is wrong with it. Correct the file and import it again; --dry-run checks it without storing anything.")
}

// store stores the rows of the file, and notes those that cannot be.
func (m *Import) store(ctx context.Context, call catalog.Call, r *catalog.Resource, by catalog.ID, out *Imported) error {
	file, err := m.Open()
	if err != nil {
		return fault.New(fault.InvalidPayload, "the file cannot be read: "+err.Error()).Because(err)
	}
	defer file.Close()
	left := map[string]bool{}
	in, err := newRows(file, m.Format, r, left)
	if err != nil {
		return err
	}
	for len(out.Problems) < maxProblems {
		one, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil { // nothing behind it can be read
			out.Rows++
			out.note(one.line, fault.Detail{Message: err.Error()})
			break
		}
		if one.other {
			out.Skipped++
			continue
		}
		out.Rows++
		if one.wrong != nil {
			out.note(one.line, *one.wrong)
			continue
		}
		if err := m.write(ctx, call, by, one, out); err != nil {
			return err
		}
	}
	for name := range left {
		out.LeftOut = append(out.LeftOut, name)
	}
	slices.Sort(out.LeftOut)
	return nil
}

// write stores one row. An error of it is noted; one of the run is returned.
func (m *Import) write(ctx context.Context, call catalog.Call, by catalog.ID, one row, out *Imported) error {
	input, err := json.Marshal(map[string]any{"model": one.model, "set": m.set()})
	if err != nil {
		return err
	}
	_, err = call.Invoke(ctx, by, input)
	if err == nil {
		return nil
	}
	f := fault.From(err)
	if run.Ends(err) || ctx.Err() != nil || !slices.Contains(rowFaults, f.Code) {
		return err
	}
	details, _ := f.Details.([]fault.Detail)
	if len(details) == 0 {
		details = []fault.Detail{{Path: f.Path, Message: f.Message}}
	}
	out.note(one.line, details...)
	return nil
}

// rowFaults are the faults of a row: the next ones may be right.
var rowFaults = []fault.Code{fault.InvalidPayload, fault.Conflict, fault.NotFound, fault.Forbidden, fault.CallTooLarge, fault.ExecutionError}

// note notes what is wrong with a row. Paths are those within the row.
func (o *Imported) note(line int, details ...fault.Detail) {
	o.failed++
	for _, d := range details {
		d.Path = strings.TrimPrefix(d.Path, "/model")
		d.Message = fmt.Sprintf("line %d: %s", line, d.Message)
		o.Problems = append(o.Problems, d)
	}
}
