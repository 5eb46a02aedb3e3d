package main

import (
	"fmt"
	"strings"

	"github.com/koan-go/koan/framework/exposure"
)

const intro = `# Tokens

Made by ` + "`make tokens`" + ` with the tokenizer o200k_base, from what the app really lists, takes and gives. Everything that a client
must put into a model's context counts once: the whole of ` + "`tools/list`" + ` (descriptions, schemas, annotations), the arguments of each
call as JSON, and each result. What the user says and what the model thinks is the same both ways, and left out.

## Definitions

What a client reads before the first call, for apps of so many entities: PantryPal's own, then the same again under other names.
In the mode ` + "`code`" + ` declarations stand in the description of ` + "`koan.code.execute`" + ` as long as they fit ` + "`codeMode.inlineTypesBytes`" + `;
beyond that a line per entity, and beyond 40 entities their names: ` + "`koan.code.search`" + ` gives the rest when it is asked for.

| entities | tools | full | code | code of tools |
|---|---|---|---|---|
`

const middle = `
## Workflows

PantryPal's scripts over its seeded data. Tools: the calls that the script makes, made one by one. Code: one call of
` + "`koan.code.execute`" + ` with the whole script, as if the model had written it there.

| script | calls | | definitions | arguments | results | together | code of tools |
|---|---|---|---|---|---|---|---|
`

// page is docs/reference/tokens.md.
func page(list []defined, talks []conversation) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, d := range list {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", d.entities, thousands(d.tokens[exposure.Tools]), thousands(d.tokens[exposure.Full]), thousands(d.tokens[exposure.Code]),
			percent(d.tokens[exposure.Code], d.tokens[exposure.Tools]))
	}
	b.WriteString(middle)
	for _, w := range talks {
		row := func(name string, calls int, how string, c cost, share string) {
			fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", name, calls, how, thousands(c.definitions), thousands(c.arguments), thousands(c.results), thousands(c.total()), share)
		}
		row(w.script, w.calls, "tools", w.tools, "")
		row("", 1, "code", w.code, percent(w.code.total(), w.tools.total()))
	}
	return b.String()
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
