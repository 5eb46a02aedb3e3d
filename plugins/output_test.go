package plugins

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// A plugin's parts make up the output that the first one announced, or none.
func TestJoinOutputParts(t *testing.T) {
	t.Parallel()
	type part struct {
		size int64
		data string
	}
	for name, c := range map[string]struct {
		parts []part
		last  string
		want  string
		code  fault.Code // "" is a broken contract
	}{
		"no parts":            {last: `"ab"`, want: `"ab"`},
		"two":                 {parts: []part{{6, `"a`}, {6, `bc`}}, last: `d"`, want: `"abcd"`},
		"nothing left":        {parts: []part{{4, `"ab"`}}, want: `"ab"`},
		"too little":          {parts: []part{{6, `"a`}}, last: `"`},
		"too much at the end": {parts: []part{{4, `"a`}}, last: `bcd"`},
		"too much before":     {parts: []part{{4, `"a`}, {4, `bcde"`}}, last: ``},
		"another size":        {parts: []part{{4, `"a`}, {5, `b`}}, last: `"`},
		"an empty part":       {parts: []part{{4, ``}}, last: `"ab"`},
		"no size":             {parts: []part{{0, `"a`}}, last: `"`},
		"a negative size":     {parts: []part{{-1, `"a`}}, last: `"`},
		"an absurd size":      {parts: []part{{1 << 60, `"a`}}, last: `"`, code: fault.CallTooLarge},
		"no JSON":             {parts: []part{{4, `"a`}}, last: `bc`},
		"too large at once":   {last: `"` + strings.Repeat("a", wire.MaxCallBytes) + `"`, code: fault.CallTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			out := output{most: wire.MaxCallBytes}
			var err error
			h := &holding{}
			for _, p := range c.parts {
				if err = out.add(h, p.size, []byte(p.data)); err != nil {
					break
				}
			}
			var got []byte
			if err == nil {
				got, err = out.end(h, []byte(c.last))
			}
			if c.want != "" {
				require.NoError(t, err)
				require.Equal(t, c.want, string(got))
				return
			}
			require.Error(t, err)
			if c.code != "" {
				require.Equal(t, c.code, fault.CodeOf(err))
			}
		})
	}
}
