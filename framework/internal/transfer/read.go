package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// row is one row of a file, as a model that is written.
type row struct {
	line  int
	model json.RawMessage
	wrong *fault.Detail // what keeps it from being one
	other bool          // it is one of another entity
}

// rows reads the rows of a file; io.EOF ends them. Another error ends them too, at the line that the row names.
type rows interface {
	next() (row, error)
}

// newRows reads rows of an entity. left gets the names of the fields that nobody writes, as far as
// the file has them.
func newRows(r io.Reader, f Format, of *catalog.Resource, left map[string]bool) (rows, error) {
	all := fields(of, func(*catalog.Field) bool { return true })
	if f == JSONL {
		return &lines{in: withoutMark(bufio.NewReaderSize(r, 64<<10)), entity: of.Name, skip: readOnly(all), left: left}, nil
	}
	t := &table{in: newCSVReader(r)}
	header, line, err := t.in.read()
	if err == io.EOF {
		return nil, fault.New(fault.InvalidPayload, "the file is empty: CSV begins with a line of the names of fields")
	}
	if err != nil {
		return nil, lineFault(line, err)
	}
	var known []string
	for _, f := range all {
		known = append(known, f.Name)
	}
	var wrong []fault.Detail
	taken := map[string]bool{}
	for _, c := range header {
		i := slices.Index(known, c.text)
		switch {
		case i < 0:
			wrong = append(wrong, fault.Detail{Path: "/" + fault.Step(c.text), Message: "unknown field " + catalog.Quote(fault.Clip(c.text, 64)) + " of " + of.Name + fault.DidYouMean(c.text, known)})
			continue
		case taken[c.text]:
			wrong = append(wrong, fault.Detail{Path: "/" + fault.Step(c.text), Message: "two columns are named " + catalog.Quote(c.text)})
		case all[i].ReadOnly:
			left[c.text] = true
		}
		taken[c.text] = true
		t.columns = append(t.columns, all[i])
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...).WithHint("The first line of CSV names the fields of the columns. %s has: %s.", of.Name, strings.Join(known, ", "))
	}
	return t, nil
}

// readOnly are the names of the fields that nobody writes.
func readOnly(all []*catalog.Field) map[string]bool {
	out := map[string]bool{}
	for _, f := range all {
		if f.ReadOnly {
			out[f.Name] = true
		}
	}
	return out
}

func lineFault(line int, err error) error {
	return fault.Newf(fault.InvalidPayload, "line %d: %s", line, err.Error())
}

// lines are rows of lines of JSON.
type lines struct {
	in     *bufio.Reader
	line   int
	entity string
	skip   map[string]bool // fields that are left out
	left   map[string]bool // those of them that there were
}

func (l *lines) next() (row, error) {
	for {
		l.line++
		text, err := l.read()
		if err != nil {
			return row{line: l.line}, err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return l.row(text), nil
		}
	}
}

// read reads a line; io.EOF behind the last one.
func (l *lines) read() ([]byte, error) {
	var out []byte
	for {
		part, err := l.in.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case len(out) > maxRow:
			return nil, errLongRow
		case err == io.EOF && len(out) > 0, err == nil:
			return out, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// row reads one line: a model, or one that names its entity.
func (l *lines) row(text []byte) row {
	out := row{line: l.line}
	switch {
	case !utf8.Valid(text):
		out.wrong = &fault.Detail{Message: "the line is not UTF-8"}
	case !json.Valid(text):
		out.wrong = &fault.Detail{Message: "the line is not JSON"}
	case text[0] != '{':
		out.wrong = &fault.Detail{Message: "the line is not an object"}
	}
	if out.wrong != nil {
		return out
	}
	members := map[string]json.RawMessage{}
	for name, v := range exact.All(text) {
		members[name] = v
	}
	var of named
	if len(members) == 2 && members["item"] != nil && json.Unmarshal(text, &of) == nil && of.Entity != "" && of.Item != nil {
		if of.Entity != l.entity {
			out.other = true
			return out
		}
		return l.row(bytes.TrimSpace(of.Item))
	}
	out.model = json.RawMessage(text)
	dropped := false
	for name := range members {
		if l.skip[name] {
			l.left[name], dropped = true, true
			delete(members, name)
		}
	}
	if dropped {
		out.model, _ = json.Marshal(members) // of what was JSON
	}
	return out
}

// table is rows of CSV.
type table struct {
	in      *csvReader
	columns []*catalog.Field
}

func (t *table) next() (row, error) {
	for {
		cells, line, err := t.in.read()
		if err != nil {
			return row{line: line}, err
		}
		if len(cells) == 1 && len(t.columns) > 1 && cells[0].isNull() {
			continue
		}
		out := row{line: line}
		if len(cells) != len(t.columns) {
			out.wrong = &fault.Detail{Message: "the line has another number of values than the first one has names"}
			return out, nil
		}
		model := map[string]json.RawMessage{}
		for i, c := range cells {
			f := t.columns[i]
			if f.ReadOnly || c.isNull() && !f.Nullable { // which then has its default, or is named as missing
				continue
			}
			if model[f.Name], out.wrong = value(f, c); out.wrong != nil {
				return out, nil
			}
		}
		out.model, err = json.Marshal(model)
		return out, err
	}
}

var number = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$`)

// value is a cell as JSON of the field's type. What does not fit is a string, of which the operation says what is wrong.
func value(f *catalog.Field, c csvCell) (json.RawMessage, *fault.Detail) {
	if c.isNull() {
		return json.RawMessage("null"), nil
	}
	switch f.Type {
	case catalog.TypeInt, catalog.TypeFloat:
		if number.MatchString(c.text) {
			return json.RawMessage(c.text), nil
		}
	case catalog.TypeBool:
		if c.text == "true" || c.text == "false" {
			return json.RawMessage(c.text), nil
		}
	case catalog.TypeJSON:
		if !json.Valid([]byte(c.text)) {
			return nil, &fault.Detail{Path: "/" + fault.Step(f.Name), Message: catalog.Quote(f.Name) + " is not JSON"}
		}
		return json.RawMessage(c.text), nil
	case catalog.TypeString, catalog.TypeText, catalog.TypeTime, catalog.TypeDay, catalog.TypeEnum, catalog.TypeID, catalog.TypeUUID, catalog.TypeBytes, catalog.TypeDecimal:
	}
	text, err := json.Marshal(c.text)
	if err != nil {
		return nil, &fault.Detail{Path: "/" + fault.Step(f.Name), Message: err.Error()}
	}
	return text, nil
}
