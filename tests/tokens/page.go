package main

import (
	"fmt"
	"strings"
)

const intro = `# Tokens

Made by ` + "`make tokens`" + ` with the tokenizer o200k_base, from what the app really lists, takes and gives. Everything that a client
must put into a model's context counts once: the whole of ` + "`tools/list`" + ` (descriptions, schemas, annotations), the arguments of each
call as JSON, and each result. The user's words and the model's thinking are the same in all ways, and left out.

## Definitions

Tokens that a client reads before the first call, by the number of entities: PantryPal's own, then the same again under other names.
*A tool each* is ` + "`tools.style: perEntity`" + `, *generic* ` + "`tools.style: generic`" + `, both without code tools; *full* is what an unknown client gets, with
the style that ` + "`auto`" + ` takes; *code* is for clients that understand code mode, *code, Python* the same in an app whose scripts are in
Python (` + "`codeMode.languages: [python]`" + `). Generic tools leave the fields of entities to
` + "`entities.describe`" + `, a tool each declares them in the list, code mode declares them in the description of
` + "`koan.code.execute`" + ` as long as they fit ` + "`codeMode.inlineTypesBytes`" + `, and otherwise leaves them to ` + "`koan.code.search`" + `.

| entities | a tool each | generic | full | code | code, Python |
|---|---|---|---|---|---|
`

const among = `
## Beside other servers

Tokens that a client reads about PantryPal's tables, from database servers of npm and from Koan: the list, and then what it has to ask before it can
write a row of ` + "`pantry_items`" + ` (call and result). The servers ran over the same tables, in SQLite or PostgreSQL; their lists are kept in
` + "`tests/tokens/testdata/baselines`" + ` (` + "`make baselines`" + `). A server of SQL is the cheapest list there is: the model brings the language, and the
server neither checks a value before the database does, nor knows rights, hooks, dry runs or an undo. A column's enum or limit is known to them where
the database has it as a constraint.

| server | version | tools | list | a table | what it does |
|---|---|---|---|---|---|
`

const middle = `
## Workflows

PantryPal's scripts over its seeded data. *Generic* and *a tool each*: the calls that the script makes, made one by one; generic with one
call of ` + "`entities.describe`" + ` for the entities that they are about. *Code*: one call of ` + "`koan.code.execute`" + ` with the whole script, as if the model
had written it there.

| script | calls | | definitions | arguments | results | together | code of it |
|---|---|---|---|---|---|---|---|
`

const whole = `
## Whole jobs

PantryPal's workflows (` + "`sample-pantrypal/testdata/workflows.yaml`" + `), each over a copy of the same year of data, in three ways. *Calls*: the calls of entities and
plugins that the workflow makes, really made one by one over MCP with generic tools, after one of ` + "`entities.describe`" + `; they leave the same rows. The model would
have to do the workflow's arithmetic itself, from the results. *Script*: one call with the workflow's whole source, as if the model had written it there.
*Action*: one call that names the action; its definitions are larger, because each action has a line in the description of the tool for scripts. Actions written in Go have no script. *Time* is that of
the calls alone, without the model's turns between them, of which each takes seconds: once, on the machine that made this page.

| workflow | | calls | definitions | arguments | results | together | of the calls | ms |
|---|---|---|---|---|---|---|---|---|
`

const requested = `
## Requests that somebody else wrote

The 345 requests of ` + "`tests/workbench`" + `, each with the script of its template, as above. *Definitions* are read once in a conversation, with what
generic tools need described; arguments and results are those of one request, on average. *One* is a conversation of one request, definitions
included, *ten* is one of ten. The calls have the values that the script worked out: without a script, the model works them out from the results.

| requests | calls | | definitions | arguments | results | one | ten | code of them |
|---|---|---|---|---|---|---|---|---|
`

// page is docs/reference/tokens.md.
func page(list []defined, others []baseline, talks []conversation, done []errand, asked []*domain) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, d := range list {
		fmt.Fprintf(&b, "| %d |", d.entities)
		for _, l := range listings {
			b.WriteString(" " + thousands(d.tokens[l]) + " |")
		}
		b.WriteString(" " + thousands(d.python) + " |\n")
	}
	b.WriteString(among)
	for _, o := range others {
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s |\n", o.name, o.version, o.tools, thousands(o.list), thousands(o.table), o.does)
	}
	b.WriteString(middle)
	for _, w := range talks {
		row := func(name, calls, how string, c cost) {
			share := ""
			if c != w.code {
				share = percent(w.code.total(), c.total())
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", name, calls, how, thousands(c.definitions), thousands(c.arguments), thousands(c.results), thousands(c.total()), share)
		}
		row(w.script, fmt.Sprint(w.calls), perEntity.name, w.each)
		row("", fmt.Sprint(w.calls+1), generic.name, w.tools)
		row("", "1", code.name, w.code)
	}
	b.WriteString(whole)
	for _, e := range done {
		e.write(&b)
	}
	b.WriteString(requested)
	for _, d := range asked {
		d.write(&b)
	}
	return b.String()
}

// write writes a workflow's rows.
func (e errand) write(b *strings.Builder) {
	name := e.task
	row := func(how string, w way, share string) {
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s | %s | %d |\n", name, how, w.calls, thousands(w.definitions), thousands(w.arguments), thousands(w.results),
			thousands(w.total()), share, w.took.Milliseconds())
		name = ""
	}
	row("calls", e.single, "")
	if e.script.calls > 0 {
		row("script", e.script, percent(e.script.total(), e.single.total()))
	}
	row("action", e.action, percent(e.action.total(), e.single.total()))
}

// write writes a domain's rows.
func (d *domain) write(b *strings.Builder) {
	several := func(c cost, n int) int { return c.definitions + n*(c.arguments+c.results)/d.requests }
	row := func(name string, calls float64, how string, c cost) {
		share := ""
		if c != d.code {
			share = percent(several(d.code, 1), several(c, 1)) + ", " + percent(several(d.code, 10), several(c, 10))
		}
		fmt.Fprintf(b, "| %s | %.1f | %s | %s | %s | %s | %s | %s | %s |\n", name, calls, how, thousands(c.definitions), thousands(c.arguments/d.requests),
			thousands(c.results/d.requests), thousands(several(c, 1)), thousands(several(c, 10)), share)
	}
	calls := float64(d.calls) / float64(d.requests)
	row(fmt.Sprintf("%s, %d", d.name, d.requests), calls, perEntity.name, d.each)
	row("", calls, generic.name, d.tools)
	row("", 1, code.name, d.code)
}

func percent(a, b int) string { return fmt.Sprintf("%.1f %%", 100*float64(a)/float64(b)) }

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
