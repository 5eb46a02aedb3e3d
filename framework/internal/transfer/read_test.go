package transfer

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

func item() *catalog.Resource {
	return &catalog.Resource{Name: "Item", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{
		{Name: "name", Type: catalog.TypeString},
		{Name: "note", Type: catalog.TypeText, Nullable: true},
		{Name: "amount", Type: catalog.TypeInt, Nullable: true},
		{Name: "open", Type: catalog.TypeBool},
		{Name: "meta", Type: catalog.TypeJSON, Nullable: true},
		{Name: "version", Type: catalog.TypeInt, ReadOnly: true},
	}}
}

// models reads a file as models, or what is wrong with a row.
func models(t *testing.T, f Format, text string) (out []string, left map[string]bool) {
	t.Helper()
	left = map[string]bool{}
	in, err := newRows(strings.NewReader(text), f, item(), left)
	require.NoError(t, err)
	for {
		r, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return out, left
		case err != nil:
			return append(out, err.Error()), left
		case r.other:
			out = append(out, "other")
		case r.wrong != nil:
			out = append(out, r.wrong.Message)
		default:
			out = append(out, string(r.model))
		}
	}
}

func TestRowsAreModels(t *testing.T) {
	t.Parallel()
	got, left := models(t, CSV, "name,note,amount,open,meta,version\nMilk,,2,true,\"{\"\"a\"\":1}\",7\n\"\",\"\",x,maybe,[,1\nTea\n\n")
	require.Equal(t, []string{`{"amount":2,"meta":{"a":1},"name":"Milk","note":null,"open":true}`, `"meta" is not JSON`, "the line has another number of values than the first one has names"}, got)
	require.Equal(t, map[string]bool{"version": true}, left)
	got, _ = models(t, CSV, "name,open,amount\n,,\"\"\n")
	require.Equal(t, []string{`{"amount":""}`}, got, "what cannot be null is left out, so that it has its default")

	got, left = models(t, JSONL, "\ufeff{}\n\n{\"name\":\"Milk\",\"version\":7}\n[1]\n{\"entity\":\"Item\",\"item\":{\"name\":\"Tea\"}}\n{\"entity\":\"Other\",\"item\":{}}\n{\"name\":\n")
	require.Equal(t, []string{"{}", `{"name":"Milk"}`, "the line is not an object", `{"name":"Tea"}`, "other", "the line is not JSON"}, got)
	require.Equal(t, map[string]bool{"version": true}, left)
}

func TestHeaderNamesFields(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{"": "empty", "nmae,id\n": `did you mean "name"`, "id,id\n": "two columns", "\"id\n": "line 1"} {
		_, err := newRows(strings.NewReader(text), CSV, item(), map[string]bool{})
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), text)
		require.ErrorContains(t, err, says, text)
	}
}

// FuzzRows: a row of any file is a JSON object, or it is said what is wrong with it.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{"name,open\nMilk,true\n", "{\"name\":\"x\"}\n", "{\"entity\":\"Item\",\"item\":{\"entity\":\"Item\",\"item\":{}}}", "meta\nnull\n", "id,version\n\"\",1e400\n"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, asCSV bool) {
		format := JSONL
		if asCSV {
			format = CSV
		}
		in, err := newRows(strings.NewReader(text), format, item(), map[string]bool{})
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		for range 1000 {
			r, err := in.next()
			if err != nil {
				return
			}
			if r.wrong == nil && !r.other {
				var model map[string]any
				require.NoError(t, json.Unmarshal(r.model, &model), string(r.model))
				require.NotContains(t, model, "version")
			}
		}
	})
}
