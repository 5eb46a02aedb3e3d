package source

import (
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
)

const rules = `Runs one JavaScript program as one transaction: it commits on a clean end; a throw or a passed limit keeps nothing.
- SDK calls are synchronous and throw KoanError (code, hint).
- Answer with SDK.Out.answer(value); console.log logs.
- Filter, sort and page in the query. upsert keeps absent fields.
- No network, files or require.
- dryRun shows changes and keeps nothing.
`

const beside = "- language: \"javascript\" runs JavaScript or TypeScript instead: SDK.Entities.X.collection({filter: {...}}); SDK.Out.answer(value) answers; console.log logs.\n"

const methods = `
Entities have collection({filter, q, sort, page, pageSize, cursor, count, fields, with, set}), each, all, getById, findById, count, aggregate, new, create, upsert, upsertMany, patch(id, changes), updateByQuery, deleteByQuery, delete, deleteMany.
Filter: {a: 1, b: {$gte: 1}}; also $ne $in $between $contains $null $and $or $not; to-one {a: 1}, to-many {$some: {a: 1}}.`

// Primer implements language.Source.
func (JavaScript) Primer() language.Primer {
	return language.Primer{Outline: typegen.TypeScript{}, Title: "JavaScript", Rules: rules, Beside: beside, Methods: methods, Example: example, Script: "js", Types: "ts"}
}

func example(entity string) string {
	if entity == "" {
		return "SDK.Out.answer({ set: SDK.run.set, args: SDK.args });\n"
	}
	return "const page = SDK.Entities." + entity + ".collection({ pageSize: 5 });\nSDK.Out.answer(page.items);\n"
}
