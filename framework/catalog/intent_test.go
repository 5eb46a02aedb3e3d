package catalog

import (
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
		"the laundry is to be folded": reads,

		"label the task as important":          changes,
		"please shelve my old card":            changes,
		"the order the customer placed":        reads,
		"orders the customer placed":           reads,
		"within the last week":                 reads,
		"newest posts in the channel":          reads,
		"files attached to the ticket":         reads,
		"the file should be deleted":           deletes,
		"my meeting got moved, please push it": creates,
		"I found a typo, correct it":           updates,
		"":                                     reads,
	} {
		require.Equal(t, want, newQuery(query).wants, query)
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
