package upstream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShapeOfALine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		id   string
		deep int
	}{
		`{"jsonrpc":"2.0","id":12,"result":{"id":3,"a":[[1]]}}`:                         {"12", 4},
		`{"result":{"text":"{[{[\"}]"},"id" : "a\"b,}"}`:                                {`"a\"b,}"`, 2},
		`{"method":"x","params":{"id":1}}`:                                              {"", 2},
		`data: {"id":5,"result":` + strings.Repeat("[", 300) + strings.Repeat("]", 300): {"5", 301},
	} {
		for _, size := range []int{1, 7, len(text)} { // it comes in parts
			var s shape
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				s.take([]byte(rest[:min(size, len(rest))]))
			}
			require.Equal(t, want.id, string(s.id), text)
			require.Equal(t, want.deep, s.deepest, text)
		}
	}
}

func TestListsThatRepeatThemselves(t *testing.T) {
	t.Parallel()
	l := toolList{seen: map[string]bool{}, circular: true}
	page := []json.RawMessage{json.RawMessage(`{"name":"a"}`), json.RawMessage(`{"name":"b"}`)}
	l.add(page)
	l.add(page)
	require.Len(t, l.tools, 2)
	require.Equal(t, []string{"its pages go in circles: the reading ended where one came again", "2 tools that it lists again"}, l.wrong())
}

func TestPatternsThatFitNoTool(t *testing.T) {
	t.Parallel()
	c := Config{Allow: []string{"issue_*", "isue_*"}, Deny: []string{"issue_delete", "page_*"}, Effects: map[string]string{"issue_*": "write", "list_*": "read"}}
	require.Equal(t, []string{"tools.allow isue_*", "tools.deny page_*", "effects list_*"}, c.idlePatterns([]string{"issue_delete", "issue_get"}))
}
