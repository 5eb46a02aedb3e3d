package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	linked  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	inline  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	yamls   = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
)

// TestLinksLead checks that each link of a page to a file of the repository leads to a file, and to one of
// its headings where it names one.
func TestLinksLead(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range linked.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(m[1], "#")
			path := page
			if file != "" {
				path = filepath.Join(filepath.Dir(page), file)
			}
			_, err := os.Stat(path)
			require.NoError(t, err, "%s links to %s", page, m[1])
			if anchor != "" {
				require.Contains(t, anchors(t, path), anchor, "%s links to %s", page, m[1])
			}
		}
	}
	require.Greater(t, checked, 200)
}

// anchors returns what GitHub makes of the headings of a page.
func anchors(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		plain := strings.ToLower(inline.ReplaceAllString(m[1], "$1"))
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return r
			}
			return -1
		}, plain))
	}
	return out
}

// TestYAMLParses checks that configurations of the pages are YAML.
func TestYAMLParses(t *testing.T) {
	parsed := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range yamls.FindAllStringSubmatch(string(text), -1) {
			parsed++
			var out any
			require.NoError(t, yaml.Unmarshal([]byte(m[1]), &out), "%s:\n%s", page, m[1])
		}
	}
	require.Greater(t, parsed, 10)
}
