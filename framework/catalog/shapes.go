package catalog

import "regexp"

// shapes are what names of things look like, and the words for the things. A query that has
// "WEB-12" is about an issue, and not about the web. Endings that products have in their names,
// as in Node.js, are left out.
var shapes = []struct {
	like  *regexp.Regexp
	words string
}{
	{regexp.MustCompile(`\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+`), " email "},
	{regexp.MustCompile(`(^|\s)@[A-Za-z][\w-]*`), "$1 user "},
	{regexp.MustCompile(`(^|\s)#[A-Za-z][\w-]*`), "$1 channel "},
	{regexp.MustCompile(`\b(AES|COVID|GPT|ISO|RFC|RSA|SHA|UTF)-(\d+)\b`), "$1 $2"}, // looks like an issue and is none
	{regexp.MustCompile(`\b[A-Z][A-Z0-9]+-\d+\b`), " issue "},
	{regexp.MustCompile(`(?i)\bhttps?://\S+|\b(?:[a-z0-9-]+\.)+(?:com|de|edu|eu|fr|gov|org|uk)\b(?:/\S*)?`), " url "},
	{regexp.MustCompile(`(?i)(?:[\w~.-]*/)*[\w-]+\.(conf|css|csv|docx?|gif|go|gz|html|ini|java|jpe?g|json|log|md|mov|mp[34]|pdf|png|pptx?|py|rb|sh|sql|svg|tar|toml|ts|tsv|txt|wav|webp|xlsx?|xml|ya?ml|zip)\b`), " file $1 "},
	{regexp.MustCompile(`(^|\s)(?:~|\.{1,2})?/[\w-][\w./-]*`), "$1 directory "},
	{regexp.MustCompile(`-?\b\d{1,3}\.\d+\s*,\s*-?\d{1,3}\.\d+\b`), " latitude longitude "},
}

// nameThings puts words for things in the place of their names.
func nameThings(text string) string {
	for _, s := range shapes {
		text = s.like.ReplaceAllString(text, s.words)
	}
	return text
}
