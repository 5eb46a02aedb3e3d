package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each format takes what it is meant for and nothing else, where formats are checked.
func TestFormatsAreChecked(t *testing.T) {
	t.Parallel()
	for format, values := range map[string]struct{ right, wrong []string }{
		"date":                  {[]string{"2026-02-28"}, []string{"2026-02-30", "tomorrow", "2026-2-1", ""}},
		"date-time":             {[]string{"2026-01-31T08:00:00Z", "2026-01-31T08:00:00.5+01:00"}, []string{"tomorrow", "2026-01-31", "2026-01-31T08:00:00", "2026-01-31 08:00:00Z", "2026-01-31T23:59:60Z", "2026-13-01T00:00:00Z"}},
		"time":                  {[]string{"08:00:00Z", "08:00:00.25+02:00"}, []string{"8:00", "25:00:00Z", "08:00:00"}},
		"duration":              {[]string{"P3DT12H", "P2W"}, []string{"3 days", "P"}},
		"email":                 {[]string{"ada@example.com", "ada+koan@mail.example.com"}, []string{"ada", "@example.com", "a b@example.com", "Ada <ada@example.com>", "<ada@example.com>", "ada@example.com ", "a..b@example.com"}},
		"hostname":              {[]string{"www.example.com"}, []string{"-a.example", "a_b.example", "a..b"}},
		"ipv4":                  {[]string{"192.0.2.1"}, []string{"192.0.2.256", "192.0.2", "::1"}},
		"ipv6":                  {[]string{"2001:db8::1"}, []string{"192.0.2.1", "2001:db8:::1"}},
		"uri":                   {[]string{"https://example.com/a?b#c", "urn:a:b"}, []string{"/a", "no uri", "https://[::1"}},
		"uri-reference":         {[]string{"/a", "https://example.com"}, []string{"\\a", "http://[::1"}},
		"uri-template":          {[]string{"/a/{b}"}, []string{"/a/{b"}},
		"iri":                   {[]string{"https://example.com/ä"}, []string{"/ä"}},
		"iri-reference":         {[]string{"/ä"}, []string{"http://[::1"}},
		"uuid":                  {[]string{"01890A5D-ac96-774b-bcce-b302099a8057"}, []string{"01890a5dac96774bbcceb302099a8057", "x"}},
		"json-pointer":          {[]string{"/a/0", ""}, []string{"a", "/~2"}},
		"relative-json-pointer": {[]string{"1/a", "0#"}, []string{"/a", "-1"}},
	} {
		require.Contains(t, Formats, format)
		schema := json.RawMessage(`{"type":"object","properties":{"format":{"type":"string","format":"` + format + `"}}}`)
		for _, dialect := range []string{"", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
			s := schema
			if dialect != "" {
				s = json.RawMessage(`{"$schema":"` + dialect + `",` + string(schema[1:]))
			}
			for _, v := range values.right {
				raw, err := json.Marshal(map[string]string{"format": v})
				require.NoError(t, err)
				require.NoError(t, Check(s, raw), "%s %s %s", dialect, format, v)
			}
			for _, v := range values.wrong {
				raw, err := json.Marshal(map[string]string{"format": v})
				require.NoError(t, err)
				err = Check(s, raw)
				require.ErrorContains(t, err, "invalid_payload", "%s %s %s", dialect, format, v)
				require.ErrorContains(t, err, "must be", format)
				wrong, err := new(Cache).Violations(s, raw)
				require.NoError(t, err)
				require.Empty(t, wrong, "%s: what others mean by a format is theirs", format)
			}
		}
	}
	require.Len(t, Formats, 16)
	for _, open := range []string{"regex", "decimal", "int32", "password", "idn-email"} {
		require.NoError(t, Check(json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"`+open+`"}`), json.RawMessage(`"(?=a"`)), open)
	}
	err := Check(json.RawMessage(`{"properties":{"data":{"contentEncoding":"base64"}}}`), json.RawMessage(`{"data":"%"}`))
	require.EqualError(t, err, `invalid_payload: "data" must be encoded as base64`)
	require.Error(t, Check(json.RawMessage(`{"const":{"format":"date"},"type":"object"}`), json.RawMessage(`{}`)), "a format in data is data")
	require.NoError(t, Check(json.RawMessage(`{"const":{"format":"date"}}`), json.RawMessage(`{"format":"date"}`)), "a format in data is data")
}
