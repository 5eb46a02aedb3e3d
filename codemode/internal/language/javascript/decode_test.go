package javascript

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	vm := goja.New()
	stringify, _ := goja.AssertFunction(vm.Get("JSON").(*goja.Object).Get("stringify"))
	for in, want := range map[string]string{
		`null`: `null`, `true`: `true`, ` [ 1 , 2.5 , -3e2 ] `: `[1,2.5,-300]`, `{}`: `{}`, `[]`: `[]`,
		`{"a":{"b":[{"c":"\u00e4\n\ud83d\ude00"}]}}`: `{"a":{"b":[{"c":"ä\n😀"}]}}`,
		`{"__proto__":{"x":1},"constructor":2}`:      `{"__proto__":{"x":1},"constructor":2}`,
		`9007199254740991`:                           `9007199254740991`, `1e400`: `null`, `{"a":1,"a":2}`: `{"a":2}`,
	} {
		v, err := decode(vm, []byte(in))
		require.NoError(t, err, in)
		out, err := stringify(goja.Undefined(), v)
		require.NoError(t, err)
		require.Equal(t, want, out.String(), in)
	}
	v, err := decode(vm, []byte("-0"))
	require.NoError(t, err)
	require.True(t, math.Signbit(v.ToFloat()))
	for _, in := range []string{"", "{", "[1,", `{"a"}`, `{"a":}`, "nul", `"a`, "\"\n\"", "1 2", "[1 2]", "-", "{1:2}", strings.Repeat("[", 1000)} {
		_, err := decode(vm, []byte(in))
		require.Error(t, err, "%q", in)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e3,"x\u0000\ud800",null,true]}`, `"\ud83d\ude00"`, `[[[[]]]]`, `{"":{"":""}}`, `1e999`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	vm := goja.New()
	stringify, _ := goja.AssertFunction(vm.Get("JSON").(*goja.Object).Get("stringify"))
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := decode(vm, in)
		if err != nil {
			return
		}
		out, err := stringify(goja.Undefined(), v)
		require.NoError(t, err)
		if json.Valid(in) {
			var want, got any
			if json.Unmarshal(in, &want) == nil {
				require.NoError(t, json.Unmarshal([]byte(out.String()), &got))
			}
		}
	})
}

// BenchmarkDecode compares the decoder with the engine's JSON.parse, on about 1 KB.
func BenchmarkDecode(b *testing.B) {
	vm := goja.New()
	var parts []string
	for range 8 {
		parts = append(parts, `{"id":"0b9f","title":"Semi-skimmed milk","done":false,"quantity":1.5,"tags":["a","b"],"note":null,"at":"2026-01-01T00:00:00Z"}`)
	}
	in := "[" + strings.Join(parts, ",") + "]"
	parse, _ := goja.AssertFunction(vm.Get("JSON").(*goja.Object).Get("parse"))
	value := vm.ToValue(in)
	perCall := func(f func() error) float64 {
		const rounds = 2000
		began := time.Now()
		for range rounds {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(began).Nanoseconds()) / rounds / 1000
	}
	var raw, direct float64
	for b.Loop() {
		raw = perCall(func() error { _, err := parse(goja.Undefined(), value); return err })
		direct = perCall(func() error { _, err := decode(vm, []byte(in)); return err })
	}
	b.ReportMetric(direct, "direct-us")
	b.ReportMetric(raw, "parse-us")
	b.ReportMetric(direct/raw, "ratio")
	b.ReportMetric(0, "ns/op")
}
