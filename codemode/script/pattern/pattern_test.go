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
		"emoji":               {`\p{Extended_Pictographic}`, "u", "😀❤", "a1#"},
		"emoji presentation":  {`\p{Emoji_Presentation}`, "u", "😀", "a1#❤"},
		"alphabetic":          {`\p{Alphabetic}`, "u", "aäⅷ", "1"},
		"any":                 {`\p{Any}`, "u", "a\n😀", ""},
		"ASCII":               {`\p{ASCII}`, "u", "a~\x00", "ä"},
		"unassigned":          {`\p{Cn}`, "u", "\u0378", "aä"},
		"v alone":             {`[a-c]`, "v", "abc", "d"},
		"difference":          {`[\p{L}--[a-z]]`, "v", "AÄä", "az1"},
		"intersection":        {`[\p{L}&&\p{ASCII}]`, "v", "az", "ä1"},
		"nested union":        {`[[0-9][a-f]_]`, "v", "09af_", "g-"},
		"negated nested":      {`[^[0-9]a]`, "v", "bz", "05a"},
		"v and i":             {`[\p{Lu}--[B]]`, "vi", "aA", "bB1"},
		"escapes":             {`[\n\x41\u{1F600}\ud83d\ude01\-\[\]]`, "v", "\nA😀😁-[]", "a"},
		"one of strings":      {`[\q{a|b}]`, "v", "ab", "c"},
	} {
		t.Run(name, func(t *testing.T) {
			got, flags, err := Rewrite(c.source, c.flags)
			require.NoError(t, err)
			require.NotContains(t, flags, "v")
			require.Equal(t, strings.Contains(c.flags, "v"), Sets(got))
			if strings.Contains(flags, "i") {
				got = "(?i)" + got
			}
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

func TestStrings(t *testing.T) {
	got, _, err := Rewrite(`[\q{abc|d|}x]`, "v")
	require.NoError(t, err)
	require.Equal(t, `(?:)(?:abc|[dx]|)`, got)
}

func TestUnchanged(t *testing.T) {
	for _, c := range [][2]string{{`\p{L}`, ""}, {`a`, "u"}, {`[\w-]`, "gu"}, {`\\p`, ""}, {`(`, "q"}} {
		source, flags, err := Rewrite(c[0], c[1])
		require.NoError(t, err)
		require.Equal(t, c, [2]string{source, flags})
	}
	got, _, err := Rewrite(`\\p{2}`, "u") // a backslash, and twice p
	require.NoError(t, err)
	require.Equal(t, `\\p{2}`, got)
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ source, flags, message, hint string }{
		"indices":              {`a`, "d", "flag d", "match.index"},
		"u and v":              {`a`, "uv", "cannot stand together", ""},
		"unknown":              {`\p{Foo}`, "u", `\p{Foo}`, `\p{L}`},
		"bare script":          {`\p{Greek}`, "u", `\p{Greek}`, `\p{Script=Greek}`},
		"extensions":           {`\p{scx=Greek}`, "u", "scx=Greek", `\p{Script=Greek}`},
		"strings":              {`\p{RGI_Emoji}`, "v", "RGI_Emoji", "Extended_Pictographic"},
		"no name":              {`\pL`, "u", `\p without`, `\p{L}`},
		"end of a range":       {`[\p{L}-z]`, "u", "range", "hyphen"},
		"begin of a range":     {`[a-\p{L}]`, "u", "range", "hyphen"},
		"open":                 {`[\p{L}`, "u", "not closed", ""},
		"not escaped":          {`[(]`, "v", "(", `\(`},
		"negated with strings": {`[^\q{ab}]`, "v", "strings", ""},
		"range of classes":     {`[\d-z]`, "v", "no range", ""},
		"open v":               {`[a--`, "v", "not closed", ""},
		"too large":            {strings.Repeat(`\p{L}`, 200), "u", "larger than", ""},
		"too deep":             {strings.Repeat("[", 100), "v", "in each other", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Rewrite(c.source, c.flags)
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
		f.Add(s, "v")
		f.Add(s, "vi")
	}
	f.Fuzz(func(t *testing.T, source, flags string) {
		if len(source) > 200 {
			return
		}
		got, _, err := Rewrite(source, flags)
		if err == nil && utf8.ValidString(source) {
			require.True(t, utf8.ValidString(got))
		}
	})
}
