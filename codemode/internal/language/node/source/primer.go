package source

import "github.com/koan-go/koan/codemode/internal/language"

const rules = `Runs one program in Node, an ES module, as one transaction: it commits on a clean end; a throw or a passed limit keeps nothing.
- SDK calls are synchronous and throw KoanError (code, hint).
- Answer with SDK.Out.answer(value) or the last expression; console.log logs.
- Filter, sort and page in the query. upsert keeps absent fields.
- Node's own modules. No network; files in /workspace only.
- dryRun shows changes and keeps nothing.
`

const beside = "- language: \"node\" runs Node instead, as an ES module: import * as github from \"./servers/github/index.js\"; globalThis.result = value or the last expression answers; Node's own modules, no network.\n"

// Primer implements language.Source: that of JavaScript, but for the rules.
func (n Node) Primer() language.Primer {
	p := n.JavaScript.Primer()
	p.Title, p.Rules, p.Beside = "Node", rules, beside
	return p
}
