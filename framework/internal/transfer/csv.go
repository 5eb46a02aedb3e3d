package transfer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/catalog"
)

// maxRow bounds one row of a file, in bytes: more than a row of an entity may take.
const maxRow = 32 << 20

var errLongRow = fmt.Errorf("a row takes more than %d bytes", maxRow)

// csvCell is one value of CSV.
type csvCell struct {
	text   string
	quoted bool
}

// isNull reports whether the cell stands for null: nothing at all, and not "" in quotes.
func (c csvCell) isNull() bool { return c.text == "" && !c.quoted }

// csvReader reads CSV as PostgreSQL's COPY writes and reads it: commas, quotes that are doubled within quotes, lines that
// end as they like. It is ours because encoding/csv does not tell "" from nothing. Blank lines between records are
// skipped, where there is more than one column.
type csvReader struct {
	in   *bufio.Reader
	line int // of the last character that was read, from 1
}

func newCSVReader(r io.Reader) *csvReader {
	return &csvReader{in: withoutMark(bufio.NewReader(r)), line: 1}
}

// withoutMark skips the mark that some editors put before UTF-8.
func withoutMark(in *bufio.Reader) *bufio.Reader {
	if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = in.Discard(len(mark))
	}
	return in
}

// read returns the next record and the line on which it begins; io.EOF behind the last one.
func (c *csvReader) read() (cells []csvCell, line int, err error) {
	line = c.line
	size := 0
	for {
		cell, end, err := c.cell(&size)
		switch {
		case err != nil:
			return nil, line, err
		case end == io.EOF && len(cells) == 0 && cell.isNull():
			return nil, line, io.EOF
		}
		if cells = append(cells, cell); end != nil {
			return cells, line, nil
		}
	}
}

// errLine ends the last cell of a line.
var errLine = errors.New("end of line")

// cell reads one cell and what ends it: nil for a comma, errLine, or io.EOF.
func (c *csvReader) cell(size *int) (cell csvCell, end, err error) {
	var text strings.Builder
	quotes := false
	for {
		r, n, err := c.in.ReadRune()
		switch {
		case err == io.EOF && quotes:
			return cell, nil, errors.New("a quote is not closed")
		case err == io.EOF:
			cell.text = text.String()
			return cell, io.EOF, nil
		case err != nil:
			return cell, nil, err
		case r == utf8.RuneError && n == 1:
			return cell, nil, errors.New("the file is not UTF-8")
		}
		if *size += n; *size > maxRow {
			return cell, nil, errLongRow
		}
		if r == '\n' {
			c.line++
		}
		switch {
		case quotes && r == '"':
			if next, err := c.in.Peek(1); err == nil && next[0] == '"' {
				_, _ = c.in.Discard(1)
				text.WriteByte('"')
				continue
			}
			quotes = false
		case quotes:
			text.WriteRune(r)
		case r == '"' && text.Len() == 0 && !cell.quoted:
			quotes, cell.quoted = true, true
		case r == '"':
			return cell, nil, errors.New(`a quote stands within a value: put the whole value in quotes, and double those in it`)
		case r == ',', r == '\n':
			if cell.text = text.String(); r == ',' {
				return cell, nil, nil
			}
			return cell, errLine, nil
		case r == '\r' && c.endsLine():
		case cell.quoted:
			return cell, nil, errors.New("something stands behind the closing quote of a value")
		default:
			text.WriteRune(r)
		}
	}
}

// endsLine reports whether a newline or nothing comes next.
func (c *csvReader) endsLine() bool {
	next, err := c.in.Peek(1)
	return err != nil || next[0] == '\n'
}

// appendCSV appends a value of a field to a record: null is nothing, an empty text "".
func appendCSV(b []byte, f *catalog.Field, value json.RawMessage) ([]byte, error) {
	if len(value) == 0 || string(value) == "null" {
		return b, nil
	}
	text := string(value)
	if value[0] == '"' && f.Type != catalog.TypeJSON {
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, err
		}
	}
	if text != "" && text != `\.` && !strings.ContainsAny(text, "\",\r\n") && text[0] != ' ' && text[len(text)-1] != ' ' {
		return append(b, text...), nil
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(text, `"`, `""`)...)
	return append(b, '"'), nil
}
