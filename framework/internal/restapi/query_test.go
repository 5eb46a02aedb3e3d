package restapi

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

var known = catalog.EntityInputs("collection")

func TestDecodeQuery(t *testing.T) {
	in, err := decodeQuery("page=2&pageSize=x&q=12&sort=-a,b&with=%7B%22steps%22%3A%7B%7D%7D&fields=x%5B&filter=%7B%22a%22%3A1%7D&count=false", known)
	require.NoError(t, err)
	require.JSONEq(t, `{"page":2,"pageSize":"x","q":"12","sort":"-a,b","with":{"steps":{}},"fields":"x[","filter":{"a":1},"count":false}`, string(object(in)))
	_, err = decodeQuery("Page=1&b=2", known)
	require.Len(t, fault.From(err).Details, 2)
}

// FuzzDecodeQuery: what is read is an object of known members, each once; anything else is a
// fault of the caller.
func FuzzDecodeQuery(f *testing.F) {
	for _, seed := range []string{"", "page=1&sort=a", "filter={}&filter=[]", "a;b", "%zz", "with={", "q=%ff", "count=true&count", "set=%00", "=&&="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		in, err := decodeQuery(raw, known)
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		given, err := url.ParseQuery(raw)
		require.NoError(t, err)
		require.Len(t, in, len(given))
		text := object(in)
		require.True(t, json.Valid(text), "%s", text)
		for name := range in {
			require.Contains(t, known, name)
		}
		if members, err := exact.Members(text); err == nil { // a value may have a name twice, which the operation reports
			require.Len(t, members, len(in))
		}
	})
}

func TestMergePatch(t *testing.T) { // of RFC 7396, appendix A
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		require.JSONEq(t, c[2], string(mergePatch(json.RawMessage(c[0]), json.RawMessage(c[1]))), "%v", c)
	}
}
