package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIntentOfQuery(t *testing.T) {
	for query, want := range map[string]intent{
		"what is on my schedule":      reads,
		"please show me the bugs":     reads,
		"look up the news":            reads,
		"get rid of the old drafts":   deletes,
		"Cancel my meeting":           deletes,
		"rename the report":           updates,
		"could you add a row":         creates,
		"merge the pull request":      acts,
		"the laundry is to be folded": unclear,
		"":                            unclear,
	} {
		require.Equal(t, want, intentOfQuery(query), query)
	}
}

// The first verb of a name counts: what is completed is read.
func TestIntentOfOperation(t *testing.T) {
	for name, want := range map[string]intent{
		"get_completed_tasks": reads, "list-events": reads, "slack_post_message": creates, "API-delete-a-block": deletes, "move_file": updates,
		"merge_pull_request": acts, "directory_tree": unclear,
	} {
		require.Equal(t, want, intentOf(&Operation{ID: ID{Kind: KindUpstream, Owner: "any", Op: name}}), name)
	}
	require.Equal(t, unclear, intentOf(nil))
}

// A line that does not parse would be a word that means nothing.
func TestWordsOfPeopleStandForOthers(t *testing.T) {
	for _, list := range []string{senses, everyday} {
		for line := range strings.Lines(strings.TrimSpace(list)) {
			said, meant, ok := strings.Cut(line, ":")
			require.True(t, ok, line)
			require.NotEmpty(t, stems(said), line)
			require.NotEmpty(t, stems(meant), line)
		}
	}
	require.Contains(t, synonyms()[stem("ditch")], stem("delete"))
	require.NotContains(t, synonyms()[stem("delete")], stem("ditch"))
}
