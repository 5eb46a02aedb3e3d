package approval_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
)

func rows(entity, operation string, n int) []approval.Effect {
	var out []approval.Effect
	for range n {
		out = append(out, approval.Effect{Entity: entity, Operation: operation, Writes: true, Destructive: operation == approval.Delete})
	}
	return out
}

func TestAsks(t *testing.T) {
	mail := approval.Effect{Operation: "plugin::mail.send", Writes: true}
	purge := approval.Effect{Operation: "plugin::mail.purge", Writes: true, Destructive: true}
	many := approval.Rule{Entity: "Todo", Operation: "delete", Rows: 3, Mode: approval.Writes}
	for _, c := range []struct {
		name    string
		policy  approval.Policy
		floor   approval.Mode
		effects []approval.Effect
		asks    int
	}{
		{"nobody by default", approval.Policy{}, "", rows("Todo", "delete", 9), 0},
		{"never", approval.Policy{Mode: approval.Never}, "", rows("Todo", "delete", 9), 0},
		{"destructive, created", approval.Policy{Mode: approval.Destructive}, "", rows("Todo", "create", 2), 0},
		{"destructive, updated", approval.Policy{Mode: approval.Destructive}, "", rows("Todo", "update", 2), 0},
		{"destructive, deleted", approval.Policy{Mode: approval.Destructive}, "", append(rows("Todo", "delete", 2), rows("Todo", "create", 1)...), 2},
		{"destructive, sent", approval.Policy{Mode: approval.Destructive}, "", []approval.Effect{mail}, 0},
		{"destructive, purged", approval.Policy{Mode: approval.Destructive}, "", []approval.Effect{purge}, 1},
		{"writes, nothing written", approval.Policy{Mode: approval.Writes}, "", nil, 0},
		{"writes", approval.Policy{Mode: approval.Writes}, "", append(rows("Todo", "update", 2), mail), 3},
		{"always, nothing written", approval.Policy{Mode: approval.Always}, "", nil, 1},
		{"the caller is stricter", approval.Policy{Mode: approval.Never}, approval.Writes, rows("Todo", "create", 1), 1},
		{"the caller cannot be looser", approval.Policy{Mode: approval.Writes}, approval.Never, rows("Todo", "create", 1), 1},
		{"too few rows", approval.Policy{Rules: []approval.Rule{many}}, "", rows("Todo", "delete", 2), 0},
		{"enough rows", approval.Policy{Rules: []approval.Rule{many}}, "", rows("Todo", "delete", 3), 3},
		{"rows of others", approval.Policy{Rules: []approval.Rule{many}}, "", append(rows("Todo", "delete", 2), rows("Note", "delete", 9)...), 0},
		{"the first rule decides", approval.Policy{Mode: approval.Writes, Rules: []approval.Rule{{Entity: "Note", Mode: approval.Never}, {Mode: approval.Always}}}, "", rows("Note", "update", 2), 1},
		{"another principal", approval.Policy{Rules: []approval.Rule{{Principal: "robot-*", Mode: approval.Always}}}, "", rows("Todo", "update", 1), 0},
		{"the principal", approval.Policy{Rules: []approval.Rule{{Principal: "an*", Mode: approval.Writes}}}, "", rows("Todo", "update", 1), 1},
		{"a call by its id", approval.Policy{Rules: []approval.Rule{{Operation: "plugin::mail.*", Mode: approval.Writes}}}, "", append(rows("Todo", "update", 1), mail), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Len(t, c.policy.NeedApproval("ann", c.floor, c.effects), c.asks)
			if c.asks > 0 {
				require.False(t, c.policy.AllowsAll("ann", c.floor))
			}
		})
	}
}

func TestSilent(t *testing.T) {
	require.True(t, approval.Policy{}.AllowsAll("ann", ""))
	require.True(t, approval.Policy{Mode: approval.Never}.AllowsAll("ann", approval.Never))
	require.False(t, approval.Policy{}.AllowsAll("ann", approval.Destructive))
	robots := approval.Policy{Rules: []approval.Rule{{Principal: "robot-*", Mode: approval.Writes}}}
	require.True(t, robots.AllowsAll("ann", ""))
	require.False(t, robots.AllowsAll("robot-1", ""))
	require.True(t, approval.Policy{Rules: []approval.Rule{{Operation: "koan::Todo.*", Mode: approval.Always}}}.Names("koan::Todo.delete"))
	require.False(t, approval.Policy{Rules: []approval.Rule{{Operation: "delete", Mode: approval.Always}}}.Names("koan::Todo.delete"))
}

func TestParseRules(t *testing.T) {
	got, err := approval.ParseRules([]map[string]string{
		{"entity": "Todo", "operation": "delete", "rows": "10", "principal": "robot-*", "mode": "always"}, {"operation": "koan::Todo.delete-many", "mode": "writes"},
	})
	require.NoError(t, err)
	require.Equal(t, []approval.Rule{{"Todo", "delete", 10, "robot-*", approval.Always}, {Operation: "koan::Todo.delete-many", Mode: approval.Writes}}, got)

	_, err = approval.ParseRules([]map[string]string{
		{"entitty": "Todo", "mode": "sometimes"}, {"rows": "many", "operation": "deleet"}, {"operation": "plugin::a.b", "rows": "2", "mode": "never"},
	})
	for _, want := range []string{
		`rule 1: there is no "entitty"; did you mean "entity"?`, `rule 1: mode must be one of never, destructive, writes, always, not "sometimes"`,
		"rule 2: mode is missing", `rule 2: rows must be a whole number of at least 1, not "many"`, `rule 2: operation must be create, update, delete`, "rule 3: an operation's id excludes entity and rows",
	} {
		require.ErrorContains(t, err, want)
	}
}

// The contract writes rules for servers as those for plugins.
func TestPatternsOfServers(t *testing.T) {
	rules, err := approval.ParseRules([]map[string]string{{"operation": "upstream::github.*", "mode": "always"}, {"operation": "upstream::mail::send.now", "mode": "always"}})
	require.NoError(t, err)
	p := approval.Policy{Rules: rules}
	require.True(t, p.Names("upstream::github::create_issue"))
	require.False(t, p.Names("upstream::github2::create_issue"))
	require.True(t, p.Names("upstream::mail::send.now"))
}

func TestAlwaysByName(t *testing.T) {
	t.Parallel()
	always := approval.Rule{Operation: "plugin::mail.*", Mode: approval.Always}
	for name, c := range map[string]struct {
		rules []approval.Rule
		want  bool
	}{
		"named":                          {[]approval.Rule{always}, true},
		"named with another mode":        {[]approval.Rule{{Operation: "plugin::mail.*", Mode: approval.Writes}}, false},
		"another rule decides first":     {[]approval.Rule{{Operation: "plugin::mail.list", Mode: approval.Never}, always}, false},
		"a rule that names nothing":      {[]approval.Rule{{Mode: approval.Always}, always}, false},
		"a rule for somebody else":       {[]approval.Rule{{Operation: "plugin::mail.*", Principal: "bob", Mode: approval.Always}}, false},
		"a rule about rows goes past it": {[]approval.Rule{{Rows: 3, Mode: approval.Never}, always}, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, approval.Policy{Mode: approval.Always, Rules: c.rules}.AlwaysByName("ann", "plugin::mail.list"))
		})
	}
}
