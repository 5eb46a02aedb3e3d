package typegen_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/soak"
	"github.com/koan-go/koan/tests/typescript"
)

// shop is a catalog with each kind of field and relationship.
func shop() catalog.Offer {
	box := json.RawMessage(`{"type":"object","required":["x"],"properties":{"x":{"type":"number"},"unit":{"enum":["px","mm"]}}}`)
	tagged := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"label":{"type":"string"}}}`)
	o := offer(
		&catalog.Resource{
			Name: "Order", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: writing, Sets: []string{"default", "tenant-*"},
			Fields: []catalog.Field{
				{Name: "title", Type: catalog.TypeString},
				{Name: "pin", Type: catalog.TypeString, WriteOnly: true},
				{Name: "pinnedAt", Type: catalog.TypeTime, Sensitive: true},
				{Name: "note", Type: catalog.TypeText, Nullable: true},
				{Name: "paid", Type: catalog.TypeBool},
				{Name: "status", Type: catalog.TypeEnum, Enum: []string{"open", "sent"}, Nullable: true},
				{Name: "count", Type: catalog.TypeInt},
				{Name: "bytes", Type: catalog.TypeInt, Wide: true},
				{Name: "sold", Type: catalog.TypeInt, Wide: true, Nullable: true},
				{Name: "points", Type: catalog.TypeInt, Wide: true, Min: new(float64), Max: new(float64)},
				{Name: "weight", Type: catalog.TypeFloat, Nullable: true},
				{Name: "at", Type: catalog.TypeTime},
				{Name: "sentAt", Type: catalog.TypeTime, Nullable: true},
				{Name: "day", Type: catalog.TypeDay},
				{Name: "paidOn", Type: catalog.TypeDay, Nullable: true},
				{Name: "price", Type: catalog.TypeDecimal},
				{Name: "discount", Type: catalog.TypeDecimal, Nullable: true},
				{Name: "tags", Type: catalog.TypeJSON, Schema: json.RawMessage(`{"type":"array","items":{"type":"string"}}`)},
				{Name: "sizes", Type: catalog.TypeJSON, Schema: json.RawMessage(`{"type":"array","items":{"type":"integer"}}`), Nullable: true},
				{Name: "boxes", Type: catalog.TypeJSON, Schema: json.RawMessage(`{"type":"array","items":` + string(box) + `}`)},
				{Name: "box", Type: catalog.TypeJSON, Schema: box},
				{Name: "meta", Type: catalog.TypeJSON, Nullable: true},
				{Name: "tagged", Type: catalog.TypeJSON, Schema: tagged},
				{Name: "customerId", Type: catalog.TypeID, Edge: "customer"},
			},
			Edges: []catalog.Edge{{Name: "customer", Target: "Customer", Required: true, Reference: "customerId"}, {Name: "lines", Target: "Line", Many: true}, {Name: "parent", Target: "Order"}},
		},
		&catalog.Resource{
			Name: "Customer", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "name", Type: catalog.TypeString}}, Operations: writing,
			Edges: []catalog.Edge{{Name: "orders", Target: "Order", Many: true}},
		},
		&catalog.Resource{
			Name: "Line", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "text", Type: catalog.TypeString}}, Operations: writing,
			Edges: []catalog.Edge{{Name: "order", Target: "Order"}, {Name: "product", Target: "Product"}},
		},
		&catalog.Resource{
			Name: "Tag", Key: catalog.Field{Name: "id", Type: catalog.TypeID, Numeric: true}, Operations: writing,
			Fields: []catalog.Field{{Name: "parentId", Type: catalog.TypeID, Numeric: true, Nullable: true, Edge: "parent"}},
			Edges:  []catalog.Edge{{Name: "parent", Target: "Tag", Reference: "parentId"}, {Name: "order", Target: "Order"}},
		},
		&catalog.Resource{
			Name: "Product", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "gtin", Type: catalog.TypeString}},
			ReadOnly: true, Operations: []string{"collection", "get-by-id", "count"},
		})
	for _, op := range o.Operations { // the operators are those that schemas name
		op.Input = []byte(strings.Replace(string(op.Input), `"filter":{}`, `"filter":{"description":"`+operators+`"}`, 1))
	}
	return o
}

const operators = "$eq $ne $in $nin $lt $lte $gt $gte $between $ieq $iin $contains $icontains $startsWith $endsWith $null $has $all $size $path $and $or $nor $not $some $every $none $exists $search"

// right are literals that the types must take: what the engine takes.
var right = []string{
	`Order.count({})`,
	`Order.count({ title: "a", note: null, paid: true, status: "open", count: 3, weight: 1.5, price: "9.99", customerId: "c1", id: "1" })`,
	`Order.count({ status: null, weight: null, parent: null, customer: null, tags: null, box: null, meta: null })`,
	`Order.count({ title: { $eq: "a", $ne: "b", $in: ["a"], $nin: [], $null: false } })`,
	`Order.count({ note: { $eq: null, $ne: null, $in: ["a", null], $ieq: "x", $iin: ["x"], $contains: "x", $icontains: "x", $startsWith: "x", $endsWith: "x" } })`,
	`Order.count({ count: { $lt: 1, $lte: 2, $gt: 3, $gte: 4, $between: [1, 2], $null: true } })`,
	`Order.count({ bytes: "9007199254740993", sold: null }); Order.count({ bytes: { $gt: "9007199254740993", $in: [1, "2"], $between: [1, "2"] }, sold: { $in: [1, "2", null], $null: false } })`,
	`Order.upsert({ bytes: "9007199254740993", sold: 1 }); Order.patch("1", { sold: null, bytes: 1 }); const o = Order.getById("1"); const n: number | string | undefined = o.bytes; const p: number | undefined = o.points; Order.upsert({ ...o, sold: n }); console.log(Number(o.sold), BigInt(o.bytes ?? 0), p)`,
	`Order.count({ weight: { $in: [1, null], $between: [0.5, 1] }, at: { $gte: "2026-01-01T00:00:00Z", $lt: new Date().toISOString() } })`,
	`Order.count({ at: new Date(), sentAt: { $gte: new Date(), $lt: "2026-01-01T00:00:00Z", $in: [new Date(), "2026-01-01T00:00:00Z", null] } })`,
	`Order.count({ at: { $between: [new Date(0), new Date()], $ne: new Date() }, sentAt: null, parent: { at: { $lt: new Date() } } })`,
	`Order.upsert({ at: new Date(), sentAt: null }); Order.patch("1", { sentAt: new Date() }); Order.updateByQuery({ at: new Date() }, { at: new Date(), sentAt: "2026-01-01T00:00:00Z" })`,
	`const o = Order.getById("1"); let at: string = o.at ?? ""; at = "x"; const day: string | undefined = o.sentAt?.slice(0, 10); Order.count({ at: o.at!, sentAt: o.sentAt ?? null }); console.log(at, day, new Date(o.at!), o.at! < "2026", o.at === "x")`,
	`const days = Object.groupBy(Order.all(), (o) => o.at!); for (const [day, list] of Object.entries(days)) console.log(day, list?.length); const sums: Record<string, number> = {}; for (const o of Order.all()) { sums[o.at!] = (sums[o.at!] ?? 0) + 1 }`,
	`const n = Order.new(); n.at = "2026-01-01T00:00:00Z"; Order.upsert(n); Order.upsert({ ...n, at: new Date() }); Order.aggregate({ groupBy: { field: "at", by: "day" }, max: ["at", "sentAt"], min: "at" })`,
	`Order.count({ day: "2026-01-31", paidOn: null }); Order.count({ day: { $gte: "2026-01-01", $lt: new Date().toISOString().slice(0, 10), $in: ["2026-01-31"] }, paidOn: { $in: ["2026-01-31", null], $null: false } })`,
	`const o = Order.getById("1"); const month: string | undefined = o.day?.slice(0, 7); Order.upsert({ ...o, day: new Date().toISOString().slice(0, 10), paidOn: o.day }); console.log(month, new Date(o.day!), o.paidOn! < o.day!)`,
	`Order.aggregate({ groupBy: { field: "day", by: "month" }, min: "day", max: ["paidOn"] }); const groups = Object.groupBy(Order.all(), (o) => o.day!); console.log(groups["2026-01-31"]?.length)`,
	`Order.count({ paid: { $eq: true, $ne: false, $in: [true], $null: false }, status: { $ne: "sent", $in: ["open", null] } })`,
	`Order.count({ tags: { $has: "x", $all: ["a", "b"], $size: 2, $null: false, $ne: null, $eq: null, $path: { "[0]": "a" } } })`,
	`Order.count({ sizes: { $has: 3, $all: [1, 2] }, boxes: { $size: 0, $path: { "[0].x": { $gt: 1, $lt: 9 } } } })`,
	`Order.count({ box: { $path: { x: 3, "a.b[1]": { $in: ["a", 1, null], $ieq: "x", $iin: ["x"], $contains: "x", $has: 1, $size: 2 } } }, tagged: { $path: { label: "x" } } })`,
	`Order.count({ meta: { $has: "x", $all: [1, "a"], $size: 1, $path: { a: null }, $null: true } })`,
	`Order.count({ customer: { name: "x", $exists: true, orders: { $some: { paid: true } } } })`,
	`Order.count({ lines: { $some: { text: { $contains: "a" }, product: { gtin: "1" } }, $every: {}, $none: { text: "b" }, $exists: true } })`,
	`Order.count({ $and: [{ paid: true }, { $or: [{ count: 1 }, { $nor: [{ count: 2 }] }] }], $not: { title: "x" }, $search: "milk" })`,
	`Order.count({ parent: { parent: { parent: { customer: { orders: { $none: { lines: { $some: { order: { title: "x" } } } } } } } } } })`,
	`const ids: string[] = []; Order.count({ id: { $in: ids }, title: { $in: ["a", "b"] as const } })`,
	`const filter: SDK.Filter<SDK.Entities.Order> = {}; filter.paid = true; if (SDK.args.min) filter.count = { $gte: SDK.args.min }; Order.count(filter)`,
	`Order.count({ status: SDK.args.sent ? "sent" : "open", ...(SDK.args.note ? { note: { $contains: SDK.args.note } } : {}) })`,
	`Order.count({ paid: true }, "tenant-7"); Order.count({}, { set: "default" })`,
	`Order.all({ with: "all" }); Order.all({ with: "customer,lines.product" }); Order.all({ with: ["customer", "lines.product.x"] }); Order.all({ with: ["lines"] as const })`,
	`Order.all({ with: { customer: true, lines: { limit: 3, sort: "-text", filter: { text: { $contains: "a" } }, fields: ["text"], with: "product" } } })`,
	`Order.all({ with: { lines: { with: { product: { fields: "gtin" }, order: { with: { customer: true, lines: { limit: 1 } } } } } } })`,
	`Order.all({ with: { parent: { filter: { paid: true }, with: ["lines"] } }, sort: ["-at", "title"], fields: "title,customer.name" })`,
	`const o = Order.getById("1", { with: "customer,lines" }); const name: string | undefined = o.customer?.name; const texts = o.lines?.map((l) => l.text); console.log(name, texts)`,
	`const o = Order.findById(7); const s: "open" | "sent" | null | undefined = o?.status; const x: number | undefined = o?.box?.x; console.log(s, x, o?.meta)`,
	`for (const o of Order.each({ filter: { paid: false } })) { const n: number = (o.count ?? 0) + 1; console.log(n, o.lines?.[0]?.product?.gtin) }`,
	`const titles: (string | undefined)[] = Order.each().filter((o) => o.paid).map((o) => o.title).take(3).toArray(); console.log(titles, [...Order.each()].length, Array.from(Order.each({ with: "lines" })))`,
	`const n: number = Order.each().flatMap((o) => o.lines ?? []).reduce((sum, l) => sum + (l.text?.length ?? 0), 0); console.log(n, Order.each().find((o) => o.paid)?.title, Order.each().some((o) => o.paid))`,
	`Order.upsert({ title: "a", status: null, customer: "c1", lines: ["1", 2, { id: "3" }], parent: null, tags: ["a"], box: { x: 1, unit: "px" }, meta: { any: 1 } })`,
	`Order.patch("1", { lines: { $add: [3], $remove: ["1"] }, customer: { id: "c" }, weight: null }); Order.upsertMany(Order.all())`,
	`Order.updateByQuery({ paid: true, at: { $lt: "2026" } }, { note: null }, { maxAffected: 5 })`,
	`const { Order: O, Customer } = SDK.Entities; const c = Customer.upsert({ name: "x" }); O.upsert({ customerId: c.id, customer: c })`,
	`for (const o of Order.each({ filter: { paid: false } })) { Order.patch(o.id, { count: o.count + 1, weight: (o.weight ?? 0) / 2, note: o.note, status: o.status }); Order.delete(o.id, { ifVersion: o.count }); console.log(o.title.length, o.paid === false, o.points / 2, Number(o.bytes) / 2) }`,
	`const o = Order.getById("1", { with: "customer,lines.product" }); const name: string = o.customer.name; const texts: string[] = o.lines.map((l) => l.text); console.log(name, texts, o.lines[0]?.product?.gtin.length, o.title, o.parent?.id)`,
	`const o = Order.getById("1", { with: ["parent.lines.order", "customer"] }); console.log(o.parent?.lines[0]?.order?.title, o.customer.id.length); const all = Order.firstPage(5, { with: "all" }).items[0]!; console.log(all.lines.length, all.customer.name, all.parent?.title)`,
	`const o = Order.findById("1", { with: { customer: true, lines: { limit: 3, sort: "-text" } } })!; console.log(o.customer.name, o.lines.length, o.parent?.id); for (const x of Order.page(2, 5, { with: { parent: { fields: "title" } } }).items) console.log(x.parent?.title)`,
	`const o = Order.all({ fields: "title,customer.name" })[0]!; console.log(o.id.length, o.title.length, o.customer.name.length, o.note?.length, o.customer.orders?.length); const p = Order.all({ fields: ["title", "paid"], with: "lines" })[0]!; console.log(p.title.length, p.lines.length, p.at?.length)`,
	`const query: SDK.Query<SDK.Entities.Order, SDK.Entities.OrderRelationship, SDK.Entities.OrderSet> = { pageSize: 5 }; query.with = "lines"; query.fields = "title"; if (SDK.args.with) query.with = SDK.args.with; for (const o of Order.each(query)) console.log(o.id.length, o.title?.length, o.lines?.length); console.log(Order.all(SDK.args)[0]?.title, Order.all({ ...SDK.args, filter: {} })[0]?.title)`,
	`function label(o: SDK.Entities.Order) { return o.title + (o.customer?.name ?? "") } label(Order.getById("1")); label(Order.getById("1", { with: "customer" })); const all: SDK.Entities.Order[] = Order.all({ with: ["lines"] }); Order.upsertMany(all); console.log(all.map(label))`,
	`const m: SDK.Entities.OrderInput = { title: "a", at: new Date(), price: 3, lines: ["1"], customer: { id: "2" }, pin: "1234" }; Order.upsert(m); const list: SDK.Entities.OrderInput[] = []; for (const o of Order.each()) list.push({ ...o, paid: true, sentAt: new Date() }); Order.upsertMany(list)`,
	`const m = Order.new(); m.title = "a"; m.customer = "c1"; m.lines = ["1", 2]; m.at = new Date(); m.price = 3; const saved = Order.upsert(m); console.log(saved.id.length, saved.title.length); const day: string = saved.at.slice(0, 10); Order.upsert({ ...m, title: day })`,
	`const by = new Map(Order.all().map((o) => [o.id, o])); const o = by.get("1"); if (o?.customer) Order.patch(o.id, { customer: o.customer, lines: o.lines }); const x: { total: number; first: SDK.Entities.Order | undefined } = { total: 0, first: o }; x.total += o?.count ?? 0; console.log(x)`,
	`SDK.Entities.Product.all({ filter: { gtin: { $in: ["1"] } } }).map((p) => p.gtin)`,
	`Order.count({ price: 9.5, discount: null }); Order.count({ price: { $gt: 1, $lte: "9.99", $in: [1, "2.50"], $between: [0, "10"] }, discount: { $in: [1, null], $ne: 2 } })`,
	`Order.patch("1", { price: 9.5, discount: null }); Order.upsert({ price: "9.50", discount: 0.5 }); Order.updateByQuery({ price: 1 }, { price: 2 })`,
	`const o = Order.getById("1"); const price: string | undefined = o.price; const sum = Number(o.price) + parseFloat(o.discount ?? "0"); Order.upsert({ ...o, price: sum }); console.log(price?.padStart(8), o.price === "9.50")`,
	`Tag.count({ id: 3, parentId: 3 }); Tag.count({ id: { $in: [3, "4"] }, parentId: { $gt: 3, $in: ["3", 4, null] } }); Tag.count({ parentId: null, parent: { id: 3 }, order: { id: "o1" } })`,
	`Tag.upsert({ id: 3, parentId: 3 }); Tag.upsert({ parentId: null }); Tag.upsert({ parent: 3 }); Tag.patch(3, { parentId: "4" }); Tag.all({ filter: { parentId: 3 } })`,
	`const t = Tag.getById(3); const id: string = t.id!; const by: Record<string, SDK.Entities.Tag> = {}; for (const t of Tag.all()) by[t.id!] = t; Tag.upsert({ parentId: t.id, parent: t.parent }); console.log(by[id], t.id === "3", new Map(Tag.all().map((t) => [t.id, t])).get("3"))`,
	`const groups = Object.groupBy(Tag.all(), (t) => t.parentId ?? ""); console.log(groups["3"]?.length); Tag.deleteMany(Tag.all().map((t) => t.id!)); Tag.aggregate({ groupBy: "parentId", min: "id" })`,
}

// wrong are literals with one mistake each, which the engine refuses as well.
var wrong = []string{
	`Order.count({ titel: "a" })`,
	`Order.count({ title: 7 })`,
	`Order.count({ title: null })`,
	`Order.count({ title: { $contain: "a" } })`,
	`Order.count({ title: { $has: "a" } })`,
	`Order.count({ title: ["a"] })`,
	`Order.count({ title: { $in: "a" } })`,
	`Order.count({ title: { $in: ["a", null] } })`,
	`Order.count({ note: { $ieq: null } })`,
	`Order.count({ note: { $iin: ["a", null] } })`,
	`Order.count({ count: { $ieq: 1 } })`,
	`Order.count({ title: { $size: 1 } })`,
	`Order.count({ title: { $exists: true } })`,
	`Order.count({ title: { $regex: "a" } })`,
	`Order.count({ paid: "yes" })`,
	`Order.count({ paid: { $gt: false } })`,
	`Order.count({ paid: { $contains: "x" } })`,
	`Order.count({ status: "opn" })`,
	`Order.count({ status: { $in: ["opn"] } })`,
	`Order.count({ status: { $gt: "open" } })`,
	`Order.count({ status: { $contains: "o" } })`,
	`Order.count({ count: "3" })`,
	`Order.count({ count: { $gt: "3" } })`,
	`Order.count({ count: { $contains: 3 } })`,
	`Order.count({ count: { $between: [1] } })`,
	`Order.count({ count: { $between: 1 } })`,
	`Order.count({ bytes: null })`,
	`Order.count({ bytes: true })`,
	`Order.count({ bytes: { $contains: "1" } })`,
	`Order.count({ points: "3" })`,
	`const n: number | undefined = Order.getById("1").bytes`,
	`Order.count({ day: new Date() })`,
	`Order.upsert({ day: new Date() })`,
	`Order.count({ day: { $gte: new Date() } })`,
	`Order.count({ day: { $contains: "2026" } })`,
	`Order.count({ day: { $startsWith: "2026-01" } })`,
	`Order.count({ day: null })`,
	`Order.count({ day: 20260131 })`,
	`Order.count({ at: Date.now() })`,
	`Order.count({ at: { $gte: Date.now() } })`,
	`Order.count({ at: null })`,
	`Order.count({ at: { $contains: "2026" } })`,
	`Order.count({ at: { $gt: null } })`,
	`Order.count({ title: new Date() })`,
	`Order.upsert({ at: Date.now() })`,
	`Order.upsert({ title: new Date() })`,
	`const at: Date | undefined = Order.getById("1").at`,
	`Order.getById("1").at?.getTime()`,
	`Order.aggregate({ max: "att" })`,
	`Order.count({ tags: "a" })`,
	`Order.count({ tags: ["a"] })`,
	`Order.count({ tags: { $has: 7 } })`,
	`Order.count({ tags: { $contains: "a" } })`,
	`Order.count({ tags: { $some: "a" } })`,
	`Order.count({ sizes: { $has: "a" } })`,
	`Order.count({ box: { x: 1 } })`,
	`Order.count({ box: { $has: "x" } })`,
	`Order.count({ box: { $path: { x: { $contain: "a" } } } })`,
	`Order.count({ tagged: { id: "1" } })`,
	`Order.count({ meta: { any: 1 } })`,
	`Order.count({ boxes: { $some: { x: 1 } } })`,
	`Order.count({ customer: "c1" })`,
	`Order.count({ customer: { nme: "x" } })`,
	`Order.count({ customer: { $some: { name: "x" } } })`,
	`Order.count({ "customer.name": "x" })`,
	`Order.count({ lines: { text: "a" } })`,
	`Order.count({ lines: { $any: { text: "a" } } })`,
	`Order.count({ lines: { $some: { txt: "a" } } })`,
	`Order.count({ lines: { $some: { product: { gtn: "1" } } } })`,
	`Order.count({ lines: null })`,
	`Order.count({ $adn: [] })`,
	`Order.count({ $and: { paid: true } })`,
	`Order.count({ $or: [{ payd: true }] })`,
	`Order.count({ $not: { titel: "a" } })`,
	`Order.count({ $eq: 1 })`,
	`Order.count({}, "nowhere")`,
	`Order.count({}, { sett: "default" })`,
	`Order.all({ filter: { titel: "a" } })`,
	`Order.all({ filtr: {} })`,
	`Order.all({ with: "custmer" })`,
	`Order.all({ with: ["custmer"] })`,
	`Order.all({ with: { custmer: true } })`,
	`Order.all({ with: { customer: false } })`,
	`Order.all({ with: { customer: { limit: 3 } } })`,
	`Order.all({ with: { lines: { limit: "3" } } })`,
	`Order.all({ with: { lines: { filter: { txt: "a" } } } })`,
	`Order.all({ with: { lines: { with: "prodct" } } })`,
	`Order.all({ with: { lines: { with: { product: { filter: { gtn: "1" } } } } } })`,
	`Order.all({ with: { lines: { with: { product: { with: "x" } } } } })`,
	`Order.all({ pageSize: "5" })`,
	`SDK.Entities.Product.all({ with: "all" })`,
	`SDK.Entities.Product.upsert({ gtin: "1" })`,
	`SDK.Entities.Product.aggregate()`,
	`Order.upsert({ titel: "a" })`,
	`Order.upsert({ status: "opn" })`,
	`Order.upsert({ lines: true })`,
	`Order.upsert({ box: { x: "1" } })`,
	`Order.upsert({ customer: true })`,
	`Order.patch("1", { lines: { $push: [3] } })`,
	`Order.updateByQuery({ payd: true }, {})`,
	`Order.getById()`,
	`Order.getById("1").customer.name`,
	`Order.getById("1", { with: "lines" }).customer.name`,
	`Order.getById("1", { with: { parent: true } }).parent.title`,
	`Order.getById("1", { with: "lines.order" }).lines[0]?.order.title`,
	`Order.all({ fields: "note" })[0]?.title.length`,
	`Order.all({ fields: ["note"], with: "customer" })[0]?.title.length`,
	`Order.all({ fields: SDK.args.fields as string[] })[0]?.title.length`,
	`Order.all({ with: { lines: { fields: "text" } } })[0]?.lines[0]?.product.gtin`,
	`Order.getById("1").note.length`,
	`Order.getById("1").pin`,
	`const n: number = Order.getById("1").bytes`,
	`Order.getById("1").bytes / 2`,
	`Order.new().title.length`,
	`const o: SDK.Entities.Order = { id: "1", title: "a" }`,
	`const m: SDK.Entities.OrderInput = { titel: "a" }`,
	`const m: SDK.Entities.OrderInput = { title: null }`,
	`const p: SDK.Entities.ProductInput = {}`,
	`Order.findById("1").title`,
	`Order.all({ fields: "title" })[0].customer.name`,
	`const n: string = Order.delete("1")`,
	`Order.colection()`,
	`SDK.Entities.Ordr`,
	`Order.count({ price: true })`,
	`Order.count({ price: null })`,
	`Order.count({ price: { $contains: "9" } })`,
	`Order.upsert({ price: new Date() })`,
	`const price: number | undefined = Order.getById("1").price`,
	`Order.count({ id: 3 })`,
	`Order.upsert({ customerId: 3 })`,
	`Tag.count({ parentId: true })`,
	`Tag.count({ id: { $contains: "3" } })`,
	`const id: number | undefined = Tag.getById(3).id`,
}

func TestLiteralsHoldUnderTSC(t *testing.T) {
	t.Parallel()
	files := map[string]string{"koan.d.ts": typegen.TypeScript{}.Declarations(view(t, shop()))}
	head := "const { Order, Tag } = SDK.Entities;\n"
	name := func(kind string, i int) string { return fmt.Sprintf("%s%d.ts", kind, i) }
	for i, code := range right {
		files[name("right", i)] = head + code
	}
	for i, code := range wrong {
		files[name("wrong", i)] = head + code
	}
	found := typescript.Check(t, files)
	require.Empty(t, found["koan.d.ts"])
	for i, code := range right {
		assert.Empty(t, found[name("right", i)], code)
	}
	for i, code := range wrong {
		if assert.NotEmpty(t, found[name("wrong", i)], "tsc accepts %s", code) {
			assert.Contains(t, found[name("wrong", i)][0], "(2,", code)
		}
	}
}

// The declarations of one entity check alone, and still know their neighbours.
func TestEntityFilesHoldAlone(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	v := view(t, shop())
	var groups []map[string]string
	for _, r := range v.Resources() {
		text, ok := typegen.TypeScript{}.Entity(v, r.Name)
		require.True(t, ok)
		groups = append(groups, map[string]string{r.Name + ".d.ts": text})
	}
	// So do those of a description, with comments and without.
	inline, _ := typegen.TypeScript{}.Inline(v, 1<<20)
	bare, complete := typegen.TypeScript{}.Inline(v, len(inline)-1)
	require.True(t, complete)
	groups = append(groups, map[string]string{"inline.d.ts": inline}, map[string]string{"bare.d.ts": bare})
	for i, found := range typescript.CheckEach(t, groups...) {
		require.Empty(t, found, groups[i])
	}
	text, _ := typegen.TypeScript{}.Entity(v, "Order")
	found := typescript.Check(t, map[string]string{
		"Order.d.ts": text,
		"right.ts": `const { Order } = SDK.Entities;
Order.count({ customer: { name: "x", orders: { $some: { anything: 1 } } }, lines: { $some: { product: { gtin: "1" } } } });
Order.all({ with: { lines: { with: "product", filter: { text: "a" } }, customer: { with: { orders: { limit: 1 } } } } })[0]?.lines?.[0]?.product.gtin;`,
		"wrong.ts": `const { Order } = SDK.Entities;
Order.count({ customer: { nme: "x" } });
Order.all({ with: { lines: { filter: { txt: "a" } } } });
Order.all({ with: { lines: { with: "prodct" } } });`,
	})
	require.Empty(t, found["Order.d.ts"])
	require.Empty(t, found["right.ts"])
	require.Len(t, found["wrong.ts"], 3, "%v", found["wrong.ts"])
}
