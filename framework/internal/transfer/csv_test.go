package transfer

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// readAll reads CSV, null as "∅".
func readAll(text string) (out [][]string, lines []int, err error) {
	c := newCSVReader(strings.NewReader(text))
	for {
		cells, line, err := c.read()
		if err == io.EOF {
			return out, lines, nil
		}
		if err != nil {
			return out, append(lines, line), err
		}
		var record []string
		for _, cell := range cells {
			if cell.isNull() {
				record = append(record, "∅")
				continue
			}
			record = append(record, cell.text)
		}
		out, lines = append(out, record), append(lines, line)
	}
}

func TestCSVKeepsEmptyTextsAndNullApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       [][]string
		lines      []int
	}{
		{"null, empty and text", "a,\"\",\n", [][]string{{"a", "", "∅"}}, []int{1}},
		{"without a last newline", "a,b\nc,\"d\"", [][]string{{"a", "b"}, {"c", "d"}}, []int{1, 2}},
		{"lines that end as on Windows", "a,b\r\n\"\",\r\n", [][]string{{"a", "b"}, {"", "∅"}}, []int{1, 2}},
		{"a mark of UTF-8", "\ufeffid\n1\n", [][]string{{"id"}, {"1"}}, []int{1, 2}},
		{"lines within a value", "\"a\nb\",c\nd,e\n", [][]string{{"a\nb", "c"}, {"d", "e"}}, []int{1, 3}},
		{"doubled quotes", `"say ""hi""",x` + "\n", [][]string{{`say "hi"`, "x"}}, []int{1}},
		{"spaces stay", " a , b\n", [][]string{{" a ", " b"}}, []int{1}},
		{"an empty file", "", nil, nil},
		{"a carriage return within a value", "a\rb\n", [][]string{{"a\rb"}}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, lines, err := readAll(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.lines, lines)
		})
	}
	for text, says := range map[string]string{
		"a\n\"b": "not closed", "a\"b\n": "within a value", "\"a\"b\n": "behind the closing quote", "\"\" \n": "behind", "\xff\n": "UTF-8",
	} {
		_, _, err := readAll(text)
		require.ErrorContains(t, err, says, text)
	}
}

// FuzzCSV: what encoding/csv reads is read alike, but for null, and what is written is read back as it was.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,\"\"\n", "\"x\"\"y\"\r\n", "\n\n", "a,\"b\nc\",\n", "\\.\n", "\ufeffa", "\"", "é,\u2028"} {
		f.Add(seed)
	}
	text := &catalog.Field{Type: catalog.TypeString}
	f.Fuzz(func(t *testing.T, in string) {
		got, _, err := readAll(in)
		if err != nil {
			return
		}
		theirs := csv.NewReader(strings.NewReader(strings.TrimPrefix(in, "\ufeff")))
		theirs.FieldsPerRecord = -1
		want, err := theirs.ReadAll()
		if err == nil && !strings.Contains(in, "\r") && !strings.Contains(in, "∅") { // which encoding/csv takes away within values, too
			var plain [][]string
			for _, record := range got {
				if len(record) == 1 && record[0] == "∅" {
					continue // a blank line
				}
				for i := range record {
					record[i] = strings.ReplaceAll(record[i], "∅", "")
				}
				plain = append(plain, record)
			}
			require.Equal(t, want, plain)
		}
		c := newCSVReader(strings.NewReader(in))
		cells, _, err := c.read()
		if err != nil {
			return
		}
		var line []byte
		for i, cell := range cells {
			if i > 0 {
				line = append(line, ',')
			}
			value := json.RawMessage("null")
			if !cell.isNull() {
				value, _ = json.Marshal(cell.text)
			}
			line, err = appendCSV(line, text, value)
			require.NoError(t, err)
		}
		again, _, err := newCSVReader(strings.NewReader(string(line) + "\n")).read()
		require.NoError(t, err, string(line))
		require.Len(t, again, len(cells))
		for i := range cells {
			require.Equal(t, cells[i].text, again[i].text)
			require.Equal(t, cells[i].isNull(), again[i].isNull())
		}
	})
}
