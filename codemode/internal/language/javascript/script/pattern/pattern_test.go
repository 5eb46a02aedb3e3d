package pattern

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// re2 makes a pattern that Rewrite wrote one of Go's.
var re2 = strings.NewReplacer(`\u{`, `\x{`)

func TestRewrite(t *testing.T) {
	for name, c := range map[string]struct {
		source, flags string
		yes, no       string // every code point of them
	}{
		"letters":             {`\p{L}`, "u", "aÄß漢", "1 -"},
		"no letters":          {`\P{L}`, "u", "1 -😀", "aÄ漢"},
		"long category":       {`\p{Uppercase_Letter}`, "u", "AÄ", "aä1"},
		"category with a key": {`\p{General_Category=Nd}`, "u", "1٣", "a½"},
		"short key":           {`\p{gc=Lu}`, "u", "A", "a"},
		"script":              {`\p{Script=Greek}`, "u", "αΩ", "aя"},
		"script alias":        {`\p{sc=Grek}`, "u", "αΩ", "aя"},
		"in a class":          {`[\p{L}\d_-]`, "u", "aä1_-", " +"},
		"negated class":       {`[^\p{L}\s]`, "u", "1-😀", "aä "},
		"hyphen at the end":   {`[\p{L}-]`, "u", "a-", "1"},
		"hyphen in front":     {`[-\p{L}]`, "u", "a-", "1"},
		"two in a class":      {`[\p{Lu}\p{Nd}]`, "u", "A1", "a-"},
		"complement in class": {`[\P{L}a]`, "u", "a1-", "bä"},
		"punctuation":         {`\p{P}`, "u", "!.-]\\", "a1+"},
		"symbols":             {`[\p{S}]`, "u", "+€^", "a1"},
		"alphabetic":          {`\p{Alphabetic}`, "u", "aäⅷ", "1"},
		"any":                 {`\p{Any}`, "u", "a\n😀", ""},
		"ASCII":               {`\p{ASCII}`, "u", "a~\x00", "ä"},
		"unassigned":          {`\p{Cn}`, "u", "\u0378", "aä"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Rewrite(c.source, c.flags)
			require.NoError(t, err)
			re := regexp.MustCompile("^(?:" + re2.Replace(got) + ")$")
			for _, r := range c.yes {
				require.True(t, re.MatchString(string(r)), "%q", r)
			}
			for _, r := range c.no {
				require.False(t, re.MatchString(string(r)), "%q", r)
			}
		})
	}
}

func TestUnchanged(t *testing.T) {
	for _, c := range [][2]string{{`\p{L}`, ""}, {`a`, "u"}, {`[\w-]`, "gu"}, {`\\p`, ""}, {`(`, "q"}} {
		source, err := Rewrite(c[0], c[1])
		require.NoError(t, err)
		require.Equal(t, c[0], source)
	}
	got, err := Rewrite(`\\p{2}`, "u") // a backslash, and twice p
	require.NoError(t, err)
	require.Equal(t, `\\p{2}`, got)
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ source, flags, message, hint string }{
		"indices":             {`a`, "d", "flag d", "match.index"},
		"sets":                {`[\p{L}--[a-z]]`, "gv", "flag v", "flag u"},
		"emoji":               {`\p{Extended_Pictographic}`, "u", "Extended_Pictographic", "emoji"},
		"emoji of a sequence": {`\p{RGI_Emoji}`, "u", "RGI_Emoji", "emoji"},
		"unknown":             {`\p{Foo}`, "u", `\p{Foo}`, `\p{L}`},
		"bare script":         {`\p{Greek}`, "u", `\p{Greek}`, `\p{Script=Greek}`},
		"extensions":          {`\p{scx=Greek}`, "u", "scx=Greek", `\p{Script=Greek}`},
		"no name":             {`\pL`, "u", `\p without`, `\p{L}`},
		"end of a range":      {`[\p{L}-z]`, "u", "range", "hyphen"},
		"begin of a range":    {`[a-\p{L}]`, "u", "range", "hyphen"},
		"open":                {`[\p{L}`, "u", "not closed", ""},
		"too large":           {strings.Repeat(`\p{L}`, 200), "u", "larger than", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Rewrite(c.source, c.flags)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Message, c.message)
			require.Contains(t, e.Hint, c.hint)
		})
	}
}

func FuzzRewrite(f *testing.F) {
	for _, s := range []string{`\p{L}`, `[^\p{Lu}-]`, `[\p{L}--[a-z]&&\w]`, `[\q{a|bc|}]`, `\P{`, `[\u{1F600}-\u{1F64F}]`, `\`, `[\`, `[a-`, "\xff[", `[\c`} {
		f.Add(s, "u")
		f.Add(s, "gv")
	}
	f.Fuzz(func(t *testing.T, source, flags string) {
		if len(source) > 200 {
			return
		}
		got, err := Rewrite(source, flags)
		if err == nil && utf8.ValidString(source) {
			require.True(t, utf8.ValidString(got))
		}
	})
}
