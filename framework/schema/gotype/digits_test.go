package gotype

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type inner struct {
	Views uint64 `json:"views"`
}

type counts struct {
	inner
	Version  int64            `json:"version"`
	Text     string           `json:"text"`
	Quoted   int64            `json:"quoted,string"`
	All      []int64          `json:"all"`
	ByName   map[string]int32 `json:"byName"`
	Pointer  *int64           `json:"pointer"`
	Large    *big.Int         `json:"large"`
	Time     time.Time        `json:"time"`
	Any      any              `json:"any"`
	Untagged int
}

// Integers beyond 2^53 are strings of digits in what entities return.
func TestStringsOfDigitsAreIntegers(t *testing.T) {
	t.Parallel()
	const raw = `{"views":"18446744073709551615","version":"-9007199254740993","text":"12","quoted":"7","all":["1",2,"9223372036854775807"],"byName":{"a":"5"},
		"pointer":"9007199254740993","large":"123456789012345678901234567890","time":"2026-01-02T03:04:05Z","any":"6","untagged":"8","other":"9"}`
	var got counts
	require.NoError(t, Unmarshal([]byte(raw), &got))
	pointer := int64(9007199254740993)
	large, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	require.Equal(t, counts{
		inner: inner{18446744073709551615}, Version: -9007199254740993, Text: "12", Quoted: 7, All: []int64{1, 2, 9223372036854775807}, ByName: map[string]int32{"a": 5},
		Pointer: &pointer, Large: large, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Any: "6", Untagged: 8,
	}, got)

	for _, wrong := range []string{`{"version":"1.5"}`, `{"version":"01"}`, `{"version":"many"}`, `{"byName":{"a":"99999999999"}}`, `{"version":true}`, `{`} {
		require.Error(t, Unmarshal([]byte(wrong), new(counts)), wrong)
	}
	require.Error(t, Unmarshal([]byte(`{}`), nil))
}
