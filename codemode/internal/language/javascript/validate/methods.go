package validate

import (
	"slices"

	"github.com/koan-go/koan/framework/catalog"
)

// signature has the positions of a method's arguments; -1 means none.
type signature struct {
	names   []string // the operation's names of the arguments before the options
	filter  int      // a filter by itself
	model   int      // a model, or a list of models, or changes
	takes   []string // the names of the options
	leading []string // arguments of this method only, which precede all others
}

// options is the position of the options.
func (s signature) options() int { return len(s.names) + len(s.leading) }

// signatureOf returns the signature of an entity's method; ok is false if there is none.
func signatureOf(method string) (s signature, ok bool) {
	op, m, ok := catalog.EntityMethod(method)
	return signature{
		names: op.Arguments, filter: slices.Index(op.Arguments, "filter"), model: slices.IndexFunc(op.Arguments, isModel),
		takes: op.Options, leading: m.Leading,
	}, ok
}

// isModel reports whether a member of an operation's input holds fields of entities.
func isModel(name string) bool { return name == "model" || name == "models" || name == "changes" }

// otherMethods are the names of methods in other libraries, and of those that an entity may lack, with what
// stands for them: the first that the entity has.
var otherMethods = map[string][]string{
	"create": {"upsert"}, "upsert": {"create", "patch"}, "patch": {"upsert"},
	"insert": {"create", "upsert"}, "save": {"upsert", "create"}, "add": {"create", "upsert"}, "put": {"upsert", "create"}, "set": {"upsert", "create"}, "store": {"upsert", "create"}, "insertOne": {"create", "upsert"}, "createOne": {"create", "upsert"},
	"upsertOne": {"upsert", "create"}, "replace": {"upsert", "create"}, "update": {"patch", "upsert"}, "updateById": {"patch", "upsert"}, "updateOne": {"patch", "upsert"}, "modify": {"patch", "upsert"}, "edit": {"patch", "upsert"},
	"remove": {"delete"}, "destroy": {"delete"}, "deleteById": {"delete"}, "deleteOne": {"delete"}, "removeById": {"delete"},
	"list": {"collection"}, "find": {"collection"}, "query": {"collection"}, "search": {"collection"}, "where": {"collection"}, "filter": {"collection"}, "select": {"collection"},
	"paginate": {"page"}, "findMany": {"all"}, "findAll": {"all"}, "getAll": {"all"}, "toArray": {"all"}, "map": {"all"}, "forEach": {"each"}, "iterate": {"each"},
	"findFirst": {"firstPage"}, "first": {"firstPage"}, "take": {"firstPage"}, "get": {"getById"}, "fetch": {"getById"}, "read": {"getById"}, "load": {"getById"},
	"findOne": {"findById"}, "findUnique": {"findById"}, "exists": {"findById"}, "createMany": {"upsertMany"}, "insertMany": {"upsertMany"}, "bulkCreate": {"upsertMany"},
	"updateMany": {"updateByQuery"}, "removeMany": {"deleteMany"}, "deleteAll": {"deleteByQuery"}, "groupBy": {"aggregate"}, "sum": {"aggregate"}, "length": {"count"},
}

// otherOutputs are names that scripts use for the members of SDK.Out.
var otherOutputs = map[string]string{
	"log": "info", "print": "info", "write": "info", "debug": "info", "say": "answer", "return": "answer", "result": "answer", "send": "answer", "done": "answer",
}

// otherOptions are the names of options in other libraries.
var otherOptions = map[string]string{
	"where": "filter", "query": "filter", "search": "q", "orderBy": "sort", "order": "sort", "include": "with", "expand": "with", "populate": "with",
	"limit": "pageSize", "take": "pageSize", "top": "pageSize", "first": "pageSize", "offset": "page", "skip": "page", "select": "fields", "tenant": "set",
}
