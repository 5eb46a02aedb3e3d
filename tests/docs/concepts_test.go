package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// TestConcepts sends the request of docs/concepts.md and compares the answer; "…" stands for anything.
func TestConcepts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/concepts.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 2)
	var request map[string]any
	require.NoError(t, json.Unmarshal([]byte(blocks[0][1]), &request))
	answer, err := koantest.New(t, fixture.App()).Call("code::koan.execute", request)
	require.NoError(t, err)
	spaces := regexp.MustCompile(`\s+`)
	want := spaces.ReplaceAllString(blocks[1][1], "")
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", `.*`)
	pattern = regexp.MustCompile(`,?\.\*,?`).ReplaceAllString(pattern, `.*`)
	require.Regexp(t, `(?s)\A`+pattern+`\z`, spaces.ReplaceAllString(string(answer), ""))
}
