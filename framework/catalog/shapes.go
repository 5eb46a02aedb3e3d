package catalog

import (
	"regexp"
	"sync"
)

// shape is what names of a kind of things look like, and the words for the things.
type shape struct {
	like  *regexp.Regexp
	words string
}

// shapes are compiled at the first search, as most processes never search. Endings that products
// have in their names, as in Node.js, are left out.
var shapes = sync.OnceValue(func() (out []shape) {
	for _, s := range [][2]string{
		{`\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+`, " email "},
		{`(^|\s)@[A-Za-z][\w-]*`, "$1 user "},
		{`(^|\s)#[A-Za-z][\w-]*`, "$1 channel "},
		{`\b(AES|COVID|GPT|ISO|RFC|RSA|SHA|UTF)-(\d+)\b`, "$1 $2"}, // looks like an issue and is none
		{`\b[A-Z][A-Z0-9]+-\d+\b`, " issue "},
		{`(?i)\bhttps?://\S+|\b(?:[a-z0-9-]+\.)+(?:com|de|edu|eu|fr|gov|org|uk)\b(?:/\S*)?`, " url "},
		{`(?i)(?:[\w~.-]*/)*[\w-]+\.(conf|css|csv|docx?|gif|go|gz|html|ini|java|jpe?g|json|log|md|mov|mp[34]|pdf|png|pptx?|py|rb|sh|sql|svg|tar|toml|ts|tsv|txt|wav|webp|xlsx?|xml|ya?ml|zip)\b`, " file $1 "},
		{`(^|\s)(?:~|\.{1,2})?/[\w-][\w./-]*`, "$1 directory "},
		{`-?\b\d{1,3}\.\d+\s*,\s*-?\d{1,3}\.\d+\b`, " latitude longitude "},
	} {
		out = append(out, shape{regexp.MustCompile(s[0]), s[1]})
	}
	return out
})

// nameThings puts the words for things in the place of their names: "WEB-12" is about an issue,
// and not about the web.
func nameThings(text string) string {
	for _, s := range shapes() {
		text = s.like.ReplaceAllString(text, s.words)
	}
	return text
}
