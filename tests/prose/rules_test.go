package prose

import (
	"regexp"
	"strings"
)

// rule finds one pattern of prose that makes native readers stumble.
type rule struct {
	name  string
	write string // what to write instead
	find  func(sentences []string) []string
}

// matches finds what a pattern matches, but for what an exception matches in the same sentence.
func matches(pattern string, but ...string) func([]string) []string {
	found, except := regexp.MustCompile(pattern), regexp.MustCompile(strings.Join(append(but, `\A\z`), "|"))
	return func(sentences []string) (out []string) {
		for _, s := range sentences {
			if !found.MatchString(s) {
				continue
			}
			for _, m := range found.FindAllString(except.ReplaceAllString(s, "\x00"), -1) {
				out = append(out, strings.TrimSpace(m)+" … "+brief(s))
			}
		}
		return out
	}
}

// rules are those for every text; longSentences is one for how-tos alone.
var rules = []rule{
	{"who-clause", "name the actor: `Callers that ...`", matches(`\A\**(Who|Whoever) [^?]*\z`, `\A\**Who \w+( \w+){0,2}\z`)},
	{"what-clause", "name the thing: `Changes that ...`", matches(`\A\**What (cannot|does|is|was|were|has|have|no|a|an|the|it|they|comes|stands|lies|goes|somebody|one|callers|other|others|you|clients|scripts|people) [^?]*[^?\x60]{20}\z`, `\A\**What (a|an|the|is|you|it) [^,.]{0,30}\z`)},
	{"word-order", "subject, verb, object", matches(`\bof which the\b|\bof whom\b|\bwithout which\b|\bfrom how many\b|\bfrom which on\b|\bfrom then on\b|\bFrom (it|them) alone\b|\bnone of which\b|\bas it stands\b`)},
	{"negated-noun", "negate the verb, once", matches(`\b(is|are|was|be) (no|none)\b|\b[Nn]othing of\b|\b(name|names|see|sees|has|have|takes) none\b|\btakes nothing\b|\bwithout a word\b|\bno other than\b`, `\b[Tt]here (is|are|was|were) (no|none)\b|\b(is|are) no longer\b`)},
	{"causative", "makes, asks, requires", matches(`\bha(s|ve|d) (a person|somebody|someone|people|the user|the server|the tokens) \w+|\bcannot be had\b|\bis to be had\b`)},
	{"else", "otherwise, except, also", matches(`, else\b|; else\b|\bElse\b|\bor else\b|\band else\b|\belse (say|the|it|a|by|with)\b|\bsave (that|for|where)\b|, too\b|\bbut for\b`, `\b(any|some|no|every)(body|thing) else\b|\ball else\b`)},
	{"of-chain", "a compound, `from`, or 's", matches(`\b\w+ of (\w+ ){1,3}of (\w+ ){1,3}of\b|\b[Tt]ext of servers\b|\b[Qq]uestions of a\b|\bthe line of\b|\bof (its|their) own of\b`)},
	{"odd-verb", "returns, fails with, requires, reports", matches(`\b(end|ends|ended) (in|with) (a )?(` + "`" + `[a-z_]+` + "`" + `|fault)|\b[Cc]ounts? on\b|\b(count|counts|counted) no\b|\bends the (start|generation)\b|\b(holds|goes) on\b|\bsays nothing\b|\bmends?\b`)},
	{"private-term", "see the glossary", matches(`\b[Kk]ernel\b|\bwings?\b|\beras?\b of the protocol|\bprotocol eras?\b|\bperson at the machine\b|\b[Mm]ust never:|\bWhat must\b|\bat the machine\b`, `\b(Linux|the system's) kernel\b`, `\b[Kk]ernel (has|version|supports|where)\b`, `where the kernel\b`)},
	{"he-and-text", "it or they; string", matches(`\b([Hh]e|[Hh]is|[Hh]im|[Hh]imself)\b|\bis no text\b`, `\ba an her his my\b`)},
}

// longest is how many words a sentence of a how-to may have.
const longest = 25

// longSentences finds sentences that are too long to follow.
func longSentences(sentences []string) (out []string) {
	for _, s := range sentences {
		if n := len(strings.Fields(s)); n > longest {
			out = append(out, brief(s))
		}
	}
	return out
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```$|^    [^ \n][^\n]*$")
	tags   = regexp.MustCompile(`(?s)<!--.*?-->|</?[a-z][^<>]*>`)
	code   = regexp.MustCompile("`[^`]+`")
	links  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	cells  = regexp.MustCompile(`(?m)^\|.*\|$`)
	block  = regexp.MustCompile(`\n\s*\n`)
	items  = regexp.MustCompile(`(?m)^ *([-*] |\d+\. |#+ .*$|\|[-| ]+\|$)`)
	ends   = regexp.MustCompile(`[.?!:]["')*]*(?:\s+|\z)|\n\n+`)
	blanks = regexp.MustCompile(`\s+`)
)

// sentences takes a text of Markdown apart: each cell of a table and each item of a list is a text of its
// own, a piece of code one word, and headings are left out.
func sentences(text string) (out []string) {
	text = tags.ReplaceAllString(fenced.ReplaceAllString(text, "\n\n"), "")
	text = code.ReplaceAllStringFunc(text, func(s string) string {
		return "`" + strings.NewReplacer(" ", "", ".", "", ":", "", "|", "").Replace(strings.Trim(s, "`")) + "`"
	})
	text = links.ReplaceAllString(text, "$1")
	text = cells.ReplaceAllStringFunc(text, func(row string) string { return strings.ReplaceAll(row, "|", "\n\n") })
	text = items.ReplaceAllString(text, "\n\n")
	for _, b := range block.Split(text, -1) {
		at := 0
		for _, end := range ends.FindAllStringIndex(b, -1) {
			out = appendSentence(out, b[at:end[1]])
			at = end[1]
		}
		out = appendSentence(out, b[at:])
	}
	return out
}

func appendSentence(out []string, s string) []string {
	if s = strings.TrimSpace(blanks.ReplaceAllString(s, " ")); s != "" {
		out = append(out, s)
	}
	return out
}

// brief is the beginning of a sentence.
func brief(s string) string {
	if r := []rune(s); len(r) > 90 {
		return string(r[:90]) + "…"
	}
	return s
}
