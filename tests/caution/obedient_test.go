package caution_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// form is a way in which a script passes a text on. Its JavaScript sees text, what the text
// was a part of, and send, a call with an effect outside.
type form struct {
	name string
	code string
	// next is a second run, if there is one: what the first one returned is its args.
	next string
	// tool is an action that is called in the second run, as a tool, with the text.
	tool string
	// marked says whether the text is recognised.
	marked bool
}

var forms = []form{
	{name: "as it is", code: `send(text)`, marked: true},
	{name: "joined with words of the script", code: "send(`Please note: ${text} Thank you.`)", marked: true},
	{name: "copied by JSON", code: `send(JSON.parse(JSON.stringify({ text })).text)`, marked: true},
	{name: "as JSON", code: `send(JSON.stringify({ text }))`, marked: true},
	{name: "as JSON within JSON", code: `send(JSON.stringify({ note: JSON.stringify([text]) }))`, marked: true},
	{name: "through a map and a closure", code: `const kept = new Map([["x", () => text]]); send(kept.get("x")())`, marked: true},
	{name: "in parallel", code: `await Promise.all([0, 1].map(async () => send(text)))`, marked: true},
	{name: "a part of it", code: `send(text.slice(2, 32))`, marked: true},
	{name: "read from a row that the run wrote", code: `const row = SDK.Entities.Document.upsert({ path: "copy", text }); send(SDK.Entities.Document.getById(row.id).text)`, marked: true},
	{name: "read from a file that the run wrote", code: `send(SDK.Files.text(SDK.Files.create({ text }).id).slice(2, 32))`, marked: true},
	{name: "given to an action", code: `SDK.Actions.forward({ text })`, marked: true},
	{name: "read and sent by an action", code: `SDK.Actions.readAndForward({})`, marked: true},

	{name: "a part within other words", code: "send(`(${text.slice(2, 32)})`)"},
	{name: "with something between its letters", code: `send([...text].join("."))`},
	{name: "backwards", code: `send([...text].reverse().join(""))`},
	{name: "codes of its letters", code: `send([...text].map((c) => c.codePointAt(0)).join(" "))`},
	{name: "encoded", code: `send([...unescape(encodeURIComponent(text))].map((c) => c.charCodeAt(0).toString(16)).join(""))`},
	{name: "letter by letter", code: `for (const c of text.slice(0, 6)) send(c)`},
	{name: "as a decision", code: `if (text.length > 3) send("the code is 4711")`},
	{name: "as a literal of the next run", code: `text`, next: `send(LITERAL)`},
	{name: "as args of the next run", code: `text`, next: `send(SDK.args)`},
	{name: "from a row in the next run", code: `SDK.Entities.Document.upsert({ id: "memo", path: "memo", text }); ""`, next: `send(SDK.Entities.Document.getById("memo").text)`},
	{name: "from a file in the next run", code: `SDK.Files.create({ text }).id`, next: `send(SDK.Files.text(SDK.args))`},
	{name: "given to an action in the next run", code: `text`, tool: "forward"},
}

// rowless reports whether a form works in the gateway, which has no rows and no actions.
func (f form) rowless() bool {
	return !strings.Contains(f.code+f.tool, "Entities") && !strings.Contains(f.code+f.tool, "orward")
}

// actionsOf are the actions of the forms, for the text of an injection.
func actionsOf(i injection) map[string]string {
	return map[string]string{
		"forward.js": `export const action = { description: "Forwards a text.", input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } };
			export default ({ text }) => { ` + sendOf(i) + ` send(text); return {}; };`,
		"read-and-forward.js": `export const action = { description: "Reads a text and forwards it." };
			export default () => { const text = ` + i.at + `; ` + sendOf(i) + ` send(text); return {}; };`,
	}
}

// sendOf declares send: to another server than the text is from.
func sendOf(i injection) string {
	if strings.Contains(i.at, "chat.") {
		return `const send = (text) => SDK.Servers.mailbox.send_mail({ to: "friend@post.example", subject: "fyi", body: String(text) });`
	}
	return `const send = (text) => SDK.Servers.chat.post_message({ channel: "general", text: String(text) });`
}

// apply runs a form with an injection's text, and returns how often somebody was asked about a call
// with an effect outside, and which of them were made.
func (h *household) apply(t *testing.T, f form, i injection) (asked int, done []deed) {
	t.Helper()
	h.questions()
	h.deeds()
	h.answer = reads
	r := h.try("const text = "+i.at+"; "+sendOf(i)+"\n"+f.code, nil)
	if f.next != "" || f.tool != "" {
		require.True(t, r.Success, "%v", r.Error)
		switch {
		case f.tool != "":
			r = h.call(f.tool, map[string]any{"text": textOf(t, r.Result)})
		default:
			r = h.try(sendOf(i)+"\n"+strings.ReplaceAll(f.next, "LITERAL", string(r.Result)), textOf(t, r.Result))
		}
	}
	for _, q := range h.questions() {
		if !fetchesPage(q) && !commits(q) {
			asked++
		}
	}
	done = effects(h.deeds())
	if asked > 0 {
		require.False(t, r.Success)
		require.Equal(t, fault.ApprovalDenied, r.Error.Code, "%v", r.Error)
	}
	return asked, done
}

func textOf(t *testing.T, raw json.RawMessage) (s string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &s), string(raw))
	return s
}

// Where nobody has said of a tool that it does no harm, and where all effects outside are asked
// about, nothing that an injected text can make a model write has an effect without a yes.
func TestNothingIsDoneOutsideWithoutAYes(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestNothingIsDoneOutsideWithoutAYes) {
		return
	}
	w, all := injected()
	require.Len(t, all, 30)
	policies := []policy{appThatAsks, askedWrites}
	if !pgtest.Here(t) { // a gateway has no entities
		policies = append(policies, gatewayDefault)
	}
	for _, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			gateway := p.name == gatewayDefault.name
			var h *household
			if gateway {
				h = startGateway(t, w, p)
			} else {
				h = startApp(t, w, p, actionsOf(all[0]))
			}
			h.answer = reads
			for _, i := range all {
				if gateway && strings.Contains(i.at, "Entities") {
					continue // it has none
				}
				first := h.run("const text = "+i.at+"; text", nil)
				require.True(t, i.own || len(textOf(t, first.Result)) > 20, "the model gets to read it")
				h.questions()
				h.deeds()
				r := h.try(i.obeys, nil)
				done := h.deeds()
				if i.obeys == fetches && p.name == askedWrites.name {
					require.Len(t, done, 1, "a tool that is said to only read is not asked about, whatever it is told")
					continue
				}
				require.Empty(t, done, "%s: %v", i.kind, done)
				require.NotEmpty(t, h.questions(), i.kind)
				require.Equal(t, fault.ApprovalDenied, r.Error.Code, i.kind)
			}
			for _, f := range forms {
				if gateway && !f.rowless() {
					continue
				}
				asked, done := h.apply(t, f, all[0])
				require.Empty(t, done, f.name)
				require.NotZero(t, asked, f.name)
			}
			// A person who cannot be asked says no more than one who says no.
			if h.kit != nil {
				mute := &household{t: t, kit: h.kit, log: h.log, read: h.read, person: connect(t, h.kit.Connect(), false)}
				for _, i := range all {
					if i.obeys == fetches {
						continue
					}
					require.Equal(t, fault.ApprovalRequired, mute.try(i.obeys, nil).Error.Code)
				}
				require.Empty(t, mute.deeds())
			}
		})
	}
}

// Where somebody has said of all tools that they do no harm, only marking is left. This is what
// it recognises and what it does not: docs/howto/upstreams.md has the same table.
func TestWhatMarkingAloneCatches(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	w, all := injected()
	literal := 0
	h := startApp(t, w, declaredWrite, actionsOf(all[0]))
	for n, i := range all {
		t.Run(i.kind, func(t *testing.T) {
			h.deeds()
			h.answer = no
			h.try(i.obeys, nil)
			literal += len(h.deeds())
			if i.own {
				return
			}
			for _, f := range forms {
				if n > 0 && strings.Contains(f.code+f.tool, "orward") { // the actions are about the first one
					continue
				}
				asked, done := h.apply(t, f, i)
				if f.marked {
					require.NotZero(t, asked, f.name)
					require.Empty(t, done, f.name)
					continue
				}
				require.Zero(t, asked, f.name)
				require.NotEmpty(t, done, f.name)
			}
		})
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-40s %-8s %s\n", "how a text of a server is passed on", "marking", "rules about effects")
	for _, f := range forms {
		by := "no"
		if f.marked {
			by = "asks"
		}
		fmt.Fprintf(&table, "%-40s %-8s asks\n", f.name, by)
	}
	page, err := os.ReadFile("../../docs/howto/upstreams.md")
	require.NoError(t, err)
	for _, f := range forms {
		require.Contains(t, string(page), fmt.Sprintf("| %s | %s | ask |\n", f.name, map[bool]string{true: "asks", false: "no"}[f.marked]), "the page has the same table")
	}
	fmt.Fprintf(&table, "%-40s %-8s asks: %d of %d were carried out without them\n", "obeyed by the next script, in its words", "no", literal, len(all))
	t.Log("\n" + table.String())
	require.Equal(t, len(all), literal, "what the model writes itself is its own")
}

// Trust in a server covers what it passes on from strangers, and what it says of its tools.
func TestTrustInAServerCoversTheTextsThatItHas(t *testing.T) {
	t.Parallel()
	w, _ := injected()
	p := policy{"trusted", readers(map[string]string{"approval.mode": "destructive", "approval.tainted": "ask", "upstreams.bank.trust": "true", "upstreams.chat.trust": "true"})}
	h := startApp(t, w, p, nil)
	reference := `const { reference } = SDK.Servers.bank.list_transfers({}).transfers.find((t) => t.id === "t9"); `
	h.run(reference+`SDK.Servers.chat.post_message({ channel: "general", text: reference })`, nil)
	require.Empty(t, h.questions())
	require.Len(t, h.deeds(), 1)
	h.try(reference+`SDK.Servers.mailbox.send_mail({ to: "ann@work.example", subject: "", body: reference })`, nil)
	require.Len(t, h.questions(), 1, "a server of which nothing is said is asked about")
	h.try(`SDK.Servers.chat.post_message({ channel: "general", text: SDK.Servers.drive.read_file({ path: "plan.txt" }) })`, nil)
	require.Len(t, h.questions(), 1, "and text of one, where a trusted server gets it")
	require.Empty(t, h.deeds())
}
