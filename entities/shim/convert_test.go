package shim

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/filter"
)

type (
	color string
	small int8
	unit  uint16
)

// got keeps what a setter was given.
func got[T any](to *any) func(T) { return func(v T) { *to = v } }

func TestConverters(t *testing.T) {
	id := uuid.MustParse("0198c0de-0000-7000-8000-000000000001")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := []struct {
		name string
		set  func(v *any) error
		want any
	}{
		{"text", func(v *any) error { return Text("a", got[string](v)) }, "a"},
		{"named text", func(v *any) error { return Text("red", got[color](v)) }, color("red")},
		{"named text as it was", func(v *any) error { return Text(color("red"), got[color](v)) }, color("red")},
		{"bool", func(v *any) error { return Bool(true, got[bool](v)) }, true},
		{"int", func(v *any) error { return Int(int64(-5), got[int](v)) }, -5},
		{"int as it was", func(v *any) error { return Int(7, got[int](v)) }, 7},
		{"smallest", func(v *any) error { return Int(int64(-128), got[small](v)) }, small(-128)},
		{"unsigned", func(v *any) error { return Int(int64(65535), got[unit](v)) }, unit(65535)},
		{"largest", func(v *any) error { return Int(uint64(math.MaxUint64), got[uint64](v)) }, uint64(math.MaxUint64)},
		{"float", func(v *any) error { return Float(1.5, got[float64](v)) }, 1.5},
		{"float of an integer", func(v *any) error { return Float(int64(2), got[float32](v)) }, float32(2)},
		{"time", func(v *any) error { return Time(at, got[time.Time](v)) }, at},
		{"bytes", func(v *any) error { return Bytes([]byte("x"), got[[]byte](v)) }, []byte("x")},
		{"uuid", func(v *any) error { return UUID(id.String(), got[uuid.UUID](v)) }, id},
		{"uuid as it was", func(v *any) error { return UUID(id, got[uuid.UUID](v)) }, id},
		{"json", func(v *any) error { return JSON(json.RawMessage(`["a"]`), got[[]string](v)) }, []string{"a"}},
		{"json as it was", func(v *any) error { return JSON([]string{"b"}, got[[]string](v)) }, []string{"b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var v any
			require.NoError(t, c.set(&v))
			require.Equal(t, c.want, v)
		})
	}
}

func TestConvertersRefuse(t *testing.T) {
	var v any
	for name, err := range map[string]error{
		"text":             Text(1, got[string](&v)),
		"null":             Text(nil, got[string](&v)),
		"bool":             Bool("true", got[bool](&v)),
		"too large":        Int(int64(128), got[small](&v)),
		"too small":        Int(int64(-129), got[small](&v)),
		"negative":         Int(int64(-1), got[unit](&v)),
		"unsigned":         Int(uint64(math.MaxUint64), got[int](&v)),
		"not an integer":   Int(1.5, got[int](&v)),
		"float":            Float("1", got[float64](&v)),
		"time":             Time("2026", got[time.Time](&v)),
		"bytes":            Bytes("x", got[[]byte](&v)),
		"uuid":             UUID("x", got[uuid.UUID](&v)),
		"uuid of a number": UUID(1, got[uuid.UUID](&v)),
		"json":             JSON(json.RawMessage(`{}`), got[[]string](&v)),
		"json of a number": JSON(1, got[[]string](&v)),
	} {
		require.Error(t, err, name)
	}
	require.Nil(t, v)
}

func FuzzIDs(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "01", "1e3", "9223372036854775808", "18446744073709551615", "128", "x", "0198c0de-0000-7000-8000-000000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, ids := range map[string]IDForm{"int": IntIDs[int](), "int8": IntIDs[int8](), "uint64": IntIDs[uint64](), "text": TextIDs[string](), "uuid": UUIDs()} {
			id, err := ids.ParseID(s)
			if err != nil {
				continue
			}
			if name != "uuid" && ids.FormatID(id) != s {
				t.Fatalf("%s: %q became %q", name, s, ids.FormatID(id))
			}
			held, err := ids.BindID(id)
			if err != nil { // what no database holds
				continue
			}
			if again, err := ids.ScanID(held); err != nil || again != id {
				t.Fatalf("%s: %v was kept as %v and read as %v: %v", name, id, held, again, err)
			}
		}
		if _, err := IntID[int64](s); err == nil {
			if _, err := strconv.ParseInt(s, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestIDsKeepTheirTypes(t *testing.T) {
	require.Equal(t, []int{1, 2}, IDs[int](Anys([]int{1, 2})))
}

func TestConvertersSayTheRange(t *testing.T) {
	for want, err := range map[string]error{
		"200 is out of range: want an integer from -128 to 127":                                                 Int(int64(200), got[small](nil)),
		"-1 is out of range: want an integer from 0 to 65535":                                                   Int(int64(-1), got[unit](nil)),
		"-1 is out of range: want an integer from 0 to 18446744073709551615":                                    Int(int64(-1), got[uint64](nil)),
		"9223372036854775808 is out of range: want an integer from -9223372036854775808 to 9223372036854775807": Int(uint64(1<<63), got[int64](nil)),
	} {
		require.EqualError(t, err, want)
	}
	_, err := convert[small](int64(200))
	require.EqualError(t, err, "200 is out of range: want an integer from -128 to 127")
}

func TestJSONOfNoType(t *testing.T) {
	var got map[string]any
	set := func(v map[string]any) { got = v }
	for value, path := range map[string]string{
		`{"a":9007199254740993}`: "/a", `{"a":{"b":[0,-9007199254740992]}}`: "/a/b/1", `{"a":9.007199254740992e+15}`: "/a", `{"a":9007199254740993.5}`: "/a", `{"a":1e16}`: "/a",
	} {
		var wrong *JSONError
		require.ErrorAs(t, JSON(json.RawMessage(value), set), &wrong, value)
		require.Equal(t, path, wrong.Path, value)
		require.Contains(t, wrong.Message, "beyond 2^53")
		require.NotEmpty(t, wrong.Hint)
	}
	require.Nil(t, got)
	require.NoError(t, JSON(json.RawMessage(`{"a":"9007199254740993","b":9007199254740991,"c":1e300}`), set))
	require.Equal(t, map[string]any{"a": "9007199254740993", "b": 9007199254740991.0, "c": 1e300}, got)
	require.NoError(t, JSON(StoredJSON(`{"a":9007199254740993}`), set), "what is kept is not somebody's input")
}

func TestJSONOfTypes(t *testing.T) {
	type inner struct {
		N    int64 `json:"n"`
		Text int   `json:"text,string"`
	}
	type outer struct {
		inner
		Of    *inner          `json:"of"`
		Big   *big.Int        `json:"big"`
		Small []uint8         `json:"small"`
		Times []time.Time     `json:"times"`
		Ratio float64         `json:"ratio"`
		Raw   json.RawMessage `json:"raw"`
		Any   any             `json:"any"`
	}
	var got outer
	set := func(v outer) { got = v }
	const large = "9007199254740993"
	require.NoError(t, JSON(json.RawMessage(`{"N":"`+large+`","of":{"n":"-`+large+`","text":"5"},"big":"1`+large+`","small":"AQ==","ratio":"`+large+`","raw":`+large+`,"any":"`+large+`"}`), set))
	require.EqualValues(t, 9007199254740993, got.N)
	require.Equal(t, inner{-9007199254740993, 5}, *got.Of)
	require.Equal(t, "1"+large, got.Big.String())
	require.Equal(t, []byte{1}, got.Small)
	require.Equal(t, large, string(got.Raw))
	require.Equal(t, large, got.Any)
	for value, want := range map[string]JSONError{
		`{"n":"5"}`:           {Path: "/n", Message: `want an integer from -9223372036854775808 to 9223372036854775807 (a string of digits beyond 2^53), got string "5"`},
		`{"of":{"m":1}}`:      {Path: "/of/m", Message: `unknown member "m"`},
		`{"times":["today"]}`: {Path: "/times/0", Message: `want an RFC 3339 time such as 2026-01-31T08:00:00Z, got string "today"`},
		`{"small":"%"}`:       {Path: "/small", Message: `want a base64 string, got string "%"`},
		`{"ratio":true}`:      {Path: "/ratio", Message: "want a number, got boolean true"},
		`[]`:                  {Message: "want an object, got array of 0"},
	} {
		var wrong *JSONError
		require.ErrorAs(t, JSON(json.RawMessage(value), set), &wrong, value)
		require.Equal(t, want, *wrong, value)
	}
}

// What encoding/json takes for a type is taken, but for numbers that it would round; what it refuses
// is refused, but for integers beyond 2^53 that stand in strings, and those that are written as 1e3.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"N":1,"S":"a","L":[1],"M":{"a":1.5},"F":2e3}`, `{"N":"9007199254740993"}`, `{"L":["-9007199254740993",2]}`, `{"M":{"a":9007199254740993}}`,
		`{"n":null,"T":"2026-01-31T08:00:00Z"}`, `{"x":1}`, `{"N":1e3,"F":"9007199254740993"}`, `[]`, `{"S":9007199254740993}`,
	} {
		f.Add([]byte(seed))
	}
	type whole struct {
		N int64
		S string
		L []int
		M map[string]any
		F float64
		T *time.Time
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, problem := filter.Decode(raw); problem != nil { // which comes before, and is stricter
			return
		}
		var strict, got whole
		refused, err := unmarshalStrict(raw, &strict), decodeStrict(raw, &got)
		switch {
		case refused == nil && err == nil:
			require.Equal(t, strict, got)
		case refused == nil:
			require.True(t, filter.HasInexact(raw), "%s: %v", raw, err)
		case err == nil:
			require.Regexp(t, `"-?[1-9][0-9]{15,}"|[0-9][.eE]`, string(raw), "%v", refused)
		default:
			require.NotContains(t, err.Error(), "json:", "Go's own words")
		}
	})
}
