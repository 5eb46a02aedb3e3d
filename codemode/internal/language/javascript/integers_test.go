package javascript

import (
	"testing"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

func TestWriteBigInts(t *testing.T) {
	vm := goja.New()
	require.NoError(t, vm.Set("mark", func(c goja.FunctionCall) goja.Value { return asBigText(c.Arguments[1]) }))
	for script, want := range map[string][2]string{
		`5n`:                                   {`5`, `5`},
		`9007199254740993n`:                    {`9007199254740993`, `"9007199254740993"`},
		`({a: [-9007199254740993n, 1n, "x"]})`: {`{"a":[-9007199254740993,1,"x"]}`, `{"a":["-9007199254740993",1,"x"]}`},
		`["n5", 1, null]`:                      {`["n5",1,null]`, `["n5",1,null]`},
	} {
		v, err := vm.RunString("JSON.stringify(" + script + ", mark)")
		require.NoError(t, err)
		require.Equal(t, want[0], string(writeBigInts([]byte(v.String()), false)), script)
		require.Equal(t, want[1], string(writeBigInts([]byte(v.String()), true)), script)
	}
}

func TestDecodeKeepsLargeIntegers(t *testing.T) {
	vm := goja.New()
	for in, want := range map[string]any{
		`9007199254740991`:      int64(9007199254740991),
		`9007199254740993`:      "9007199254740993",
		`-9223372036854775809`:  "-9223372036854775809",
		`1e300`:                 1e300,
		`123456789012345678901`: "123456789012345678901",
	} {
		v, err := decode(vm, []byte(in))
		require.NoError(t, err)
		require.EqualValues(t, want, v.Export(), in)
	}
}
