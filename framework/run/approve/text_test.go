package approve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

func unredacted(text string) string { return text }

// change returns a change of one entity in the set default.
func changeOf(action store.Action, entity, id, before, after string) store.Change {
	return store.Change{Entity: entity, Set: "default", ID: id, Action: action, Before: json.RawMessage(before), After: json.RawMessage(after)}
}

// What an action with the app's rights passes on is for who approves, and not for the run's caller.
func TestCallerReadsNoInputOfTheApp(t *testing.T) {
	call := PlannedCall{Tool: "mail.send", Input: json.RawMessage(`{"to":"hidden@x"}`), App: true, Carries: []Carried{{Source: "github", Text: "hidden text"}}}
	p := Plan{Request: Planned{Tool: "pay"}, Call: &call, Agreed: []PlannedCall{call}}
	require.Contains(t, p.Text(unredacted), "hidden@x")
	require.NotContains(t, p.CallerText(unredacted), "hidden")
	require.Contains(t, p.CallerText(unredacted), "mail.send")
	refused, err := json.Marshal(new(Guard).required(&p, "", auth.Local(), true))
	require.NoError(t, err)
	require.NotContains(t, string(refused), "hidden")
	call.App = false
	require.Contains(t, p.CallerText(unredacted), "hidden@x", "of the caller's own calls all is said")
}

// What is asked begins with a sentence, whatever the plan does.
func TestPlanTextBeginsWithASentence(t *testing.T) {
	remove, change, add := changeOf(store.Delete, "Todo", "1", `{"title":"a"}`, ""), changeOf(store.Update, "Todo", "2", `{"title":"a"}`, `{"title":"b"}`), changeOf(store.Create, "Tag", "3", "", `{"name":"x"}`)
	for want, changes := range map[string][]store.Change{
		"Deletes 1 row: 1 Todo.": {remove, change},
		"Deletes nothing; updates 1 row: 1 Todo; creates 2 rows: 2 Tag.": {change, add, add},
		"Deletes nothing; creates 1 row: 1 Tag.":                         {add},
		"It changes no data.":                                            nil,
	} {
		p := Plan{Request: Planned{Tool: "koan.code.execute"}, Changes: changes}
		require.Equal(t, want, strings.Split(p.Text(unredacted), "\n")[2])
	}
}

// However many harmless rows come first, a person sees that something is deleted, how
// many rows of which kinds, and the first of them.
func TestPlanTextPutsDeletionsFirst(t *testing.T) {
	p := Plan{Request: Planned{Tool: "koan.code.execute"}}
	for i := range 300 {
		p.Changes = append(p.Changes, changeOf(store.Update, "Todo", fmt.Sprint(i), `{"title":"a"}`, `{"title":"b"}`))
	}
	for i := range 30 {
		p.Changes = append(p.Changes, changeOf(store.Delete, "Invoice", fmt.Sprint("inv", i), `{"total":"9"}`, ""))
	}
	p.Changes = append(p.Changes, changeOf(store.Delete, "Customer", "ada", `{"name":"Ada"}`, ""))
	text := p.Text(unredacted)
	headline := "Deletes 31 rows: 30 Invoice, 1 Customer.\n"
	require.Contains(t, text, headline)
	require.Less(t, strings.Index(text, headline), strings.Index(text, "Todo"))
	require.Contains(t, text, "\ndelete Invoice inv0\n    total  \"9\"\n")
	require.NotContains(t, text, "update Todo 0")
	require.Contains(t, text, "  entity    set      deleted  updated  created\n  Invoice   default       30        0        0\n  Customer  default        1        0        0\n  Todo      default        0      300        0\n")
	require.Contains(t, text, "… and 319 more rows: 18 Invoice, 1 Customer deleted; 300 Todo updated\n")
	require.Equal(t, "deletes 31 (30 Invoice, 1 Customer); updates 300 (300 Todo)", p.Summary())

	whole := p.WholeText(unredacted)
	require.Contains(t, whole, "delete Customer ada")
	require.Contains(t, whole, "update Todo 299")
	require.NotContains(t, whole, "more rows")
}

// A list of sets that is too long for a dialog is summed up, and its deletions with it.
func TestPlanTextSumsUpManySets(t *testing.T) {
	var p Plan
	for i := range 1000 {
		c := changeOf(store.Create, "Todo", "1", "", `{"title":"t"}`)
		if i%2 == 0 {
			c.Action = store.Delete
		}
		c.Set = fmt.Sprint("tenant-", i)
		p.Changes = append(p.Changes, c)
	}
	text := p.Text(unredacted)
	require.Less(t, len(text), 8000)
	require.Contains(t, text, "Deletes 500 rows: 500 Todo.\n")
	require.Contains(t, text, "  (others)  981 more       481        0      500\n")
	require.NotContains(t, p.WholeText(unredacted), "(others)")
}

func TestPlanTextListsCallsThatWereMade(t *testing.T) {
	var p Plan
	for i := range 5 {
		p.Agreed = append(p.Agreed, PlannedCall{Tool: "mail.send", Input: json.RawMessage(fmt.Sprintf(`{"to":"%d"}`, i))})
	}
	for _, tool := range []string{"mail.send", "sms.send", "mail.send", "mail.send", "mail.send", "mail.send", "sms.send"} {
		p.Made = append(p.Made, run.CallRecord{ToolName: tool})
	}
	p.Changes = []store.Change{changeOf(store.Create, "Todo", "1", "", `{}`)}
	text := p.Text(unredacted)
	require.Contains(t, text, "Already done outside, after approval:\n  mail.send {\"to\":\"0\"}\n")
	require.Contains(t, text, "  … and 2 more calls: 2 mail.send\n")
	require.Contains(t, text, "Already done outside, without approval: 2 sms.send.\n")
	require.Less(t, strings.Index(text, "sms.send"), strings.Index(text, "create Todo"))
}

// A text is shortened after its secrets were taken out: the half of one has no shape.
func TestAPlanShowsNoHalfOfASecret(t *testing.T) {
	var redactor *journal.Redactor
	secret, row := "4111 1111 1111 1111", strings.Repeat("x", dialogBounds.value-16)+" "
	p := Plan{
		Changes: []store.Change{{Action: store.Create, Entity: "Todo", Set: "default", ID: "1", After: json.RawMessage(`{"title":"` + row + secret + `"}`)}},
		Request: Planned{Tool: "t"},
		Call:    &PlannedCall{Tool: "o", Input: json.RawMessage(`{"text":"` + strings.Repeat("x", dialogBounds.input-30) + " " + secret + `"}`)},
	}
	text := p.Text(func(s string) string { s, _ = redactor.Text(s); return s })
	require.NotContains(t, text, "4111")
	require.Contains(t, text, "xxx [redac")
}

// Whatever rows hold, their shape is found and a person can read of them.
func FuzzShape(f *testing.F) {
	f.Add("1", `{"title":"a\u202e","labels":["1"],"parentId":"1"}`, `{"title":{"deep":[1e400]},"version":null}`)
	f.Add("\x00\n", `[]`, `{"labels":"1","parentId":["1",{}]}`)
	f.Fuzz(func(t *testing.T, id, before, after string) {
		changes := []store.Change{
			{Entity: "Todo", Set: "default", ID: id, Action: store.Update, Before: json.RawMessage(before), After: json.RawMessage(after)},
			{Entity: "Todo", Set: "default", ID: id + "x", Action: store.Create, After: json.RawMessage(after)},
			{Entity: "Note", Set: "default", ID: id, Action: store.Delete, Before: json.RawMessage(before)},
		}
		s := shapeOf(changes, describe)
		require.Len(t, s.lines, len(changes))
		require.Equal(t, s.digest, shapeOf(changes, describe).digest)
		require.Empty(t, s.differences(s))
		p := Plan{Changes: changes, Request: Planned{Tool: "t"}, Call: &PlannedCall{Tool: "o", Input: json.RawMessage(after)}}
		text := p.Text(func(s string) string { return s })
		require.LessOrEqual(t, utf8.RuneCountInString(text), 8000)
		for _, line := range strings.Split(text, "\n") {
			require.Equal(t, line, plain(line), "nothing that a terminal acts on")
		}
	})
}

// A long value is shown where it changes, null is not an empty string, and how many
// fields are left out is said.
func TestPlanTextShowsWhatChanges(t *testing.T) {
	long := strings.Repeat("before ", 20)
	before, after := map[string]any{"id": "a", "long": long + "10 g", "none": nil}, map[string]any{"id": "a", "long": long + "90 g", "none": ""}
	for i := range 8 {
		name := fmt.Sprint("other", i)
		before[name], after[name] = i, i+1
	}
	encoded := func(v any) json.RawMessage {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return raw
	}
	text := (&Plan{Changes: []store.Change{{Entity: "Recipe", Set: "default", ID: "a", Action: store.Update, Before: encoded(before), After: encoded(after)}}}).Text(func(s string) string { return s })
	require.Regexp(t, `long +"….*10 g" -> "….*90 g"`, text)
	require.Regexp(t, `none +null -> ""`, text)
	require.Contains(t, text, "… and 2 more fields")
}

// A long text does not hide the members of an input that stand behind it.
func TestQuestionShowsAllMembersOfAnInput(t *testing.T) {
	long := strings.Repeat(`say \"hi\" \\ `, 200)
	for _, input := range []string{
		`{"body":"` + long + `","to":"eve@evil.example"}`,
		`{"parts":["` + long + `","` + long + `",{"note":"` + long + `"}],"to":"eve@evil.example"}`,
	} {
		require.True(t, json.Valid([]byte(input)))
		got := fitInput(input, dialogBounds.input)
		require.LessOrEqual(t, len([]rune(got)), dialogBounds.input)
		require.Contains(t, got, `"to":"eve@evil.example"`)
		require.Contains(t, got, "more characters)")
	}
	many := `{"n":[` + strings.Repeat("1,", 1000) + `1],"to":"eve@evil.example"}`
	require.True(t, strings.HasSuffix(fitInput(many, 600), "… (1433 more characters)"), fitInput(many, 600))
	require.Equal(t, `{"a":"short"}`, fitInput(`{"a":"short"}`, 600))
}

// A secret in an input or a row is recognised behind the escapes of JSON.
func TestPlanTextHasNoSecretBehindAnEscape(t *testing.T) {
	var general *journal.Redactor
	redact := func(text string) string {
		text, _ = general.Text(text)
		return text
	}
	const secret = "ghp_abcdefghijklmnopqrstuvwx"
	call := PlannedCall{Tool: "mail.send", Input: json.RawMessage(`{"log":"token\n` + secret + `"}`)}
	p := Plan{Request: Planned{Tool: "pay"}, Call: &call, Changes: []store.Change{changeOf(store.Create, "Todo", "1", "", `{"title":"a","data":{"log":["\t`+secret+`"]}}`)}}
	text := p.WholeText(redact)
	require.NotContains(t, text, "ghp_")
	require.Contains(t, text, `\n`+journal.Redacted)
	require.Contains(t, text, `\t`+journal.Redacted)
}
