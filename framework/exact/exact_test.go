package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMembersHaveExactNames(t *testing.T) {
	got, err := Members([]byte(` {"aud":"a","Aud":"b","AUD":1, "n" : {"x":[1,{"y":null}]}} `))
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"aud": []byte(`"a"`), "Aud": []byte(`"b"`), "AUD": []byte(`1`), "n": []byte(`{"x":[1,{"y":null}]}`)}, got)
	for _, text := range []string{``, ` `, `null`, `[]`, `"{}"`, `1`, `{`, `{"a":1}{}`, `{a:1}`} {
		_, err := Members([]byte(text))
		require.Error(t, err, text)
	}
}

func TestOnceFindsDuplicateNames(t *testing.T) {
	for text, path := range map[string]string{
		`{"a":1,"b":2,"a":3}`:                  "/a",
		`{"a":1,"\u0061":3}`:                   "/a",
		`{"a":[{},{"b":1,"c":{"d":1,"d":1}}]}`: "/a/1/c/d",
		`[{"x/y":1,"x/y":2}]`:                  "/0/x~1y",
		`{"":1,"":2}`:                          "/",
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"a":1}`:                    "/a",
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"h":1}`:              "/h",
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":{"x":1},"i":[]}`: "/i",
	} {
		var twice *Repeated
		require.ErrorAs(t, Once([]byte(text)), &twice, text)
		require.Equal(t, path, twice.Path, text)
	}
	for _, text := range []string{`{"a":1,"A":2}`, `[{"a":1},{"a":1}]`, `{"a":{"a":{"a":1}}}`, `1`, `"a"`, `[]`, ` {} `, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":{"a":1,"i":2},"j":1}`, `{"a":"\"","b":"{\"a\":1,\"a\":2}"}`} {
		require.NoError(t, Once([]byte(text)), text)
	}
}

// once is a plain way to find the same.
func once(d *json.Decoder) (repeated bool, err error) {
	t, err := d.Token()
	if err != nil {
		return false, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return false, nil
	}
	names := map[any]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return false, err
			}
			repeated = repeated || names[name]
			names[name] = true
		}
		inner, err := once(d)
		if err != nil {
			return false, err
		}
		repeated = repeated || inner
	}
	_, err = d.Token()
	return repeated, err
}

func FuzzOnce(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}`, `{"a":[1,{"b":2,"\u0062":3}]}`, `{"é":1,"\u00e9":2}`, `{"\ud800":1,"\ud801":2}`, `{"a":`, `[`, `-0.1e5`, "{\"\xff\":1,\"\xfe\":2}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Once(text)
		if !json.Valid(text) {
			require.Error(t, err)
			return
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		want, derr := once(d)
		require.NoError(t, derr)
		_, derr = d.Token()
		require.Equal(t, io.EOF, derr)
		var twice *Repeated
		require.Equal(t, want, errors.As(err, &twice), "%q: %v", text, err)
	})
}
