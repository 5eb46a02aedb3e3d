package source

import (
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/python/typegen"
)

const rules = `Runs one Python program as one transaction: it commits on a clean end; an exception or a passed limit keeps nothing.
- SDK calls are synchronous and raise KoanError (code, hint). Rows are dicts with attributes.
- Answer with SDK.Out.answer(value) or the last expression; print logs.
- Filter, sort and page in the query. upsert keeps absent fields.
- The standard library and top-level await. No network; files in /workspace only.
- dryRun shows changes and keeps nothing.
`

const beside = "- language: \"python\" runs Python instead: SDK.Entities.X.collection(filter={...}), rows are dicts with attributes; print logs; `result = value` or the last expression answers; top-level await; the standard library.\n"

const methods = `
Entities have collection(filter=, q=, sort=, page=, page_size=, cursor=, count=, fields=, with_=, set=), each, all, get_by_id, find_by_id, count, aggregate, new, create, upsert, upsert_many, patch(id, changes), update_by_query, delete_by_query, delete, delete_many.
Filter: {"a": 1, "b": {"$gte": 1}}; also $ne $in $between $contains $null $and $or $not; to-one {"a": 1}, to-many {"$some": {"a": 1}}.`

// Primer implements language.Source.
func (Python) Primer() language.Primer {
	return language.Primer{Outline: typegen.Outline{}, Title: "Python", Rules: rules, Beside: beside, Methods: methods, Example: example, Script: Name, Types: Name}
}

func example(entity string) string {
	if entity == "" {
		return "SDK.Out.answer({\"set\": SDK.run.set, \"args\": SDK.args})\n"
	}
	return "page = SDK.Entities." + entity + ".collection(page_size=5)\nSDK.Out.answer(page.items)\n"
}
