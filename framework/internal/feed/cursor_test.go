package feed

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/follow"
)

func TestCursorText(t *testing.T) {
	c := Cursor{places: map[string]place{
		"default": {follow.Head{Position: 12, Mark: "0123abcd"}, whole}, "b-1": {follow.Head{Position: 3, Mark: "ffffffff"}, 7}, "empty": {done: whole},
	}}
	require.Equal(t, "b-1:3+7:ffffffff,default:12:0123abcd,empty:0", c.String())
	back, err := ParseCursor(c.String())
	require.NoError(t, err)
	require.Equal(t, c, back)
	c.all = true
	back, err = ParseCursor(c.String())
	require.NoError(t, err)
	require.Equal(t, c, back)
	require.Equal(t, "*", Cursor{all: true}.String())

	for _, wrong := range []string{
		"", ",", "default", "default:", "default:x", "default:1", "default:0:0123abcd", "default:01:0123abcd", "default:-1:0123abcd", "default:1:0123ABCD", "default:1:0123abc",
		"default:1+:0123abcd", "default:1+-1:0123abcd", "default:0+1", "Default:1:0123abcd", "default:1:0123abcd,default:2:0123abcd", "*,", "**", "default:0,*",
		"default:99999999999999999999:0123abcd", "default:1:0123abcd ", strings.Repeat("a:0,", maxCursor/4) + "b:0",
	} {
		_, err := ParseCursor(wrong)
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), wrong)
	}
}

// Every text is refused with a fault, or is the text of the cursor that it is read as.
func FuzzParseCursor(f *testing.F) {
	for _, text := range []string{"*", "default:0", "*,default:12:0123abcd", "b-1:3+7:ffffffff,default:12:0123abcd", "default:1+0:0123abcd", "default:1\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		require.LessOrEqual(t, len(c.places), MaxSets)
		again, err := ParseCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
		require.Len(t, c.String(), len(text), "one text for each place")
	})
}
