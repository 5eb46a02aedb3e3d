package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// pageSize is how many rows are in memory at once.
const pageSize = 200

// Export writes the rows of a set, all as of one moment: those of the job's entity or, where it names none, of every
// entity, each line with the name of its own. The order is that of ids.
func Export(ctx context.Context, j Job, to io.Writer) (*run.Outcome, error) {
	if j.Entity == "" && j.Format == CSV {
		return nil, fault.New(fault.InvalidPayload, "CSV has the rows of one entity").WithHint("Name it with --entity, or take --format jsonl.")
	}
	of := j.resources("collection")
	if len(of) == 0 {
		return nil, fault.Newf(fault.UnknownSet, "the set %s has no entity that can be read", catalog.Quote(fault.Clip(j.Set, 64))).
			WithHint("Name a set: unless the app has others, `default`. --entity names one entity of it.")
	}
	if j.Entity != "" {
		r, err := j.resource("collection")
		if err != nil {
			return nil, err
		}
		of = []*catalog.Resource{r}
	}
	begun := false
	op := operation("export", catalog.Effects{ReadOnly: true}, func(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
		if begun { // the run was begun again, and what is written is written
			return nil, fault.New(fault.ServiceUnavailable, "the database broke off while the rows were written").WithHint("Start the export again, into an empty file.")
		}
		begun = true
		out := bufio.NewWriterSize(to, 64<<10)
		for _, r := range of {
			if err := j.exportEntity(ctx, call, r, out); err != nil {
				return nil, err
			}
		}
		if err := out.Flush(); err != nil {
			return nil, writeFault(err)
		}
		return json.RawMessage("null"), nil
	})
	return j.Engine.Do(ctx, j.request(), op, false)
}

func writeFault(err error) error {
	return fault.New(fault.ExecutionError, "the rows cannot be written").Because(err)
}

// exportEntity writes the rows of one entity, page by page.
func (j *Job) exportEntity(ctx context.Context, call catalog.Call, r *catalog.Resource, out *bufio.Writer) error {
	columns := fields(r, (*catalog.Field).Readable)
	if j.Format == CSV {
		var header []byte
		for i, f := range columns {
			if i > 0 {
				header = append(header, ',')
			}
			name, _ := json.Marshal(f.Name)
			header, _ = appendCSV(header, &catalog.Field{Type: catalog.TypeString}, name)
		}
		if _, err := out.Write(append(header, '\n')); err != nil {
			return writeFault(err)
		}
	}
	input := map[string]any{"set": j.set(), "pageSize": pageSize, "count": false}
	for {
		raw, err := json.Marshal(input)
		if err != nil {
			return err
		}
		if raw, err = call.Invoke(ctx, catalog.EntityID(r.Name, "collection"), raw); err != nil {
			return err
		}
		var page struct {
			Items      []json.RawMessage
			NextCursor *string
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			line, err := j.record(r, columns, item)
			if err != nil {
				return err
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return writeFault(err)
			}
		}
		if page.NextCursor == nil {
			return nil
		}
		input["cursor"] = *page.NextCursor
	}
}

// record is a row as it is written.
func (j *Job) record(r *catalog.Resource, columns []*catalog.Field, item json.RawMessage) (line []byte, err error) {
	switch {
	case j.Format == JSONL && j.Entity != "":
		return item, nil
	case j.Format == JSONL:
		return json.Marshal(named{r.Name, item})
	}
	values := map[string]json.RawMessage{}
	for name, v := range exact.All(item) {
		values[name] = v
	}
	for i, f := range columns {
		if i > 0 {
			line = append(line, ',')
		}
		if line, err = appendCSV(line, f, values[f.Name]); err != nil {
			return nil, err
		}
	}
	return line, nil
}
