package gotype

import (
	"encoding/json"
	"math/big"
	"math/rand"
	"net"
	"net/url"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
)

type word string

func (w word) MarshalText() ([]byte, error) { return []byte("word " + string(w)), nil }

type page[T any] struct {
	Items []T `json:"items"`
}

type part struct {
	Name string `json:"name"`
}

type embedded struct {
	Inner *int `json:"inner"`
}

type node struct {
	Value    int     `json:"value"`
	Next     *node   `json:"next"`
	Children []*node `json:"children,omitempty"`
}

// everything has a field of each kind that encoding/json writes in a way of its own.
type everything struct {
	embedded
	Bool     bool              `json:"bool"`
	Int      int64             `json:"int"`
	Float    float32           `json:"float"`
	Text     string            `json:"text"`
	Words    []string          `json:"words"`
	Bytes    []byte            `json:"bytes"`
	Fixed    [2]int            `json:"fixed"`
	Nested   [][]part          `json:"nested"`
	Page     page[part]        `json:"page"`
	ByName   map[string][]int  `json:"byName"`
	ByNumber map[uint]string   `json:"byNumber"`
	Rows     []map[string]part `json:"rows"`
	Pointer  *int              `json:"pointer"`
	Struct   *part             `json:"struct"`
	List     *[]string         `json:"list"`
	Left     *part             `json:"left,omitempty"`
	Zero     time.Time         `json:"zero,omitzero"`
	Time     time.Time         `json:"time"`
	Wait     time.Duration     `json:"wait"`
	Raw      json.RawMessage   `json:"raw"`
	Number   json.Number       `json:"number"`
	Any      any               `json:"any"`
	Address  net.IP            `json:"address"`
	Where    url.URL           `json:"where"`
	Large    *big.Int          `json:"large"`
	Small    big.Int           `json:"small"`
	Word     word              `json:"word"`
	Tree     node              `json:"tree"`
	Named    struct {
		Items []int `json:"items"`
	} `json:"named"`
	hidden int
}

// plainOf is a random value of the fields that testing/quick can make.
func plainOf(random *rand.Rand) everything {
	made := func(v any) reflect.Value {
		out, ok := quick.Value(reflect.TypeOf(v), random)
		if !ok {
			panic("quick cannot make it")
		}
		return out
	}
	var e everything
	v := reflect.ValueOf(&e).Elem()
	for _, name := range []string{"Bool", "Int", "Float", "Text", "Words", "Bytes", "Fixed", "Nested", "Page", "ByName", "ByNumber", "Rows", "Pointer", "Struct", "List", "Left", "Wait", "Word"} {
		f := v.FieldByName(name)
		if random.Intn(3) > 0 { // else nil or zero
			f.Set(made(f.Interface()))
		}
	}
	e.Raw, e.Any, e.Number = json.RawMessage(`[null]`), []any{nil, 1}, "1.5"
	e.Large, e.Address, e.hidden = big.NewInt(random.Int63()), net.ParseIP("::1"), 1
	e.Tree.Next = &node{Children: []*node{{}}}
	return e
}

// TestOutputsFitTheirSchema: what a function returns is what its schema says, also where
// its slices and maps are nil.
func TestOutputsFitTheirSchema(t *testing.T) {
	out, err := Of[everything]()
	require.NoError(t, err)
	random := rand.New(rand.NewSource(1))
	check := func(e everything) {
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		sent, err := Emptied(out, raw)
		require.NoError(t, err)
		require.NoError(t, schema.Check(out, sent), "%s\n%s", sent, out)
	}
	check(everything{})
	for range 50 {
		check(plainOf(random))
	}
	sent, err := Emptied(out, []byte(`{"words":null,"byName":{"a":null},"page":{"items":null},"tree":{"next":null},"bytes":null,"pointer":null,"any":null,"int":9007199254740993}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"words":[],"byName":{"a":[]},"page":{"items":[]},"tree":{"next":null},"bytes":"","pointer":null,"any":null,"int":9007199254740993}`, string(sent))
	require.Contains(t, string(sent), "9007199254740993")
}

// TestInputAcceptsOutputOfSameType: an output can be sent back as an input.
func TestInputAcceptsOutputOfSameType(t *testing.T) {
	raw := json.RawMessage(`{"value":1,"next":{"value":2,"next":null}}`)
	in, err := Of[node]()
	require.NoError(t, err)
	require.NoError(t, schema.Check(in, raw))
	var n node
	require.NoError(t, Decode(raw, &n))
	require.Equal(t, 2, n.Next.Value)
}

type order struct {
	Items []part     `json:"items"`
	Until *time.Time `json:"until,omitempty"`
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, raw, path string
		ok              bool
	}{
		{"good", `{"items":[{"name":"a"}]}`, "", true},
		{"unknown field", `{"items":[],"more":1}`, "", false},
		{"wrong type", `{"items":[{"name":1}]}`, "/items/name", false},
		{"two values", `{"items":[]} {}`, "", false},
		{"no JSON", `{`, "", false},
		{"empty", ``, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var in order
			err := Decode([]byte(tt.raw), &in)
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			require.Equal(t, tt.path, fault.From(err).Path)
		})
	}
}

// FuzzDecode: whatever comes in is either the input or invalid_payload.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"items":[{"name":"a"}],"until":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"items":null}`))
	f.Add([]byte(`[1]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in order
		if err := Decode(raw, &in); err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		}
	})
}
