package validate

import "strings"

// signature says where in a method's arguments things stand; -1 is nowhere.
type signature struct {
	names   []string // of the arguments before the options, as the operation calls them
	filter  int      // a filter by itself
	model   int      // a model, or a list of models, or changes
	takes   []string // the options that there are
	leading []string // arguments of the method alone, which stand before all others
}

// options is where the options stand.
func (s signature) options() int { return len(s.names) + len(s.leading) }

var (
	pages   = strings.Fields("filter q sort page pageSize cursor count fields with set")
	reads   = strings.Fields("fields with set")
	columns = strings.Fields("filter groupBy count sum avg min max having sort limit set")
	setOnly = []string{"set"}
	locked  = []string{"ifVersion", "set"}
	bounded = []string{"maxAffected", "all", "set"}
)

// signatures are the methods of CONTRACT section 3.
var signatures = map[string]signature{
	"collection":    {nil, -1, -1, pages, nil},
	"firstPage":     {nil, -1, -1, pages, []string{"n"}},
	"page":          {nil, -1, -1, pages, []string{"i", "n"}},
	"each":          {nil, -1, -1, pages, nil},
	"all":           {nil, -1, -1, pages, nil},
	"getById":       {[]string{"id"}, -1, -1, reads, nil},
	"findById":      {[]string{"id"}, -1, -1, reads, nil},
	"count":         {[]string{"filter"}, 0, -1, setOnly, nil},
	"aggregate":     {nil, -1, -1, columns, nil},
	"new":           {nil, -1, -1, setOnly, nil},
	"upsert":        {[]string{"model"}, -1, 0, []string{"replace", "ifVersion", "set"}, nil},
	"upsertMany":    {[]string{"models"}, -1, 0, setOnly, nil},
	"patch":         {[]string{"id", "changes"}, -1, 1, locked, nil},
	"updateByQuery": {[]string{"filter", "changes"}, 0, 1, bounded, nil},
	"deleteByQuery": {[]string{"filter"}, 0, -1, bounded, nil},
	"delete":        {[]string{"id"}, -1, -1, locked, nil},
	"deleteMany":    {[]string{"ids"}, -1, -1, setOnly, nil},
}

// Usage is how an entity's method is called, "" for none of that name.
func Usage(method string) string {
	sig, ok := signatures[method]
	if !ok {
		return ""
	}
	arguments := append(append([]string{}, sig.leading...), sig.names...)
	return method + "(" + strings.Join(append(arguments, "{"+strings.Join(sig.takes, ", ")+"}"), ", ") + ")"
}

// otherMethods are what other libraries call our methods.
var otherMethods = map[string]string{
	"create": "upsert", "insert": "upsert", "save": "upsert", "add": "upsert", "put": "upsert", "set": "upsert", "store": "upsert", "insertOne": "upsert",
	"upsertOne": "upsert", "replace": "upsert", "update": "patch", "updateById": "patch", "updateOne": "patch", "modify": "patch", "edit": "patch",
	"remove": "delete", "destroy": "delete", "deleteById": "delete", "deleteOne": "delete", "removeById": "delete",
	"list": "collection", "find": "collection", "query": "collection", "search": "collection", "where": "collection", "filter": "collection", "select": "collection",
	"paginate": "page", "findMany": "all", "findAll": "all", "getAll": "all", "toArray": "all", "map": "all", "forEach": "each", "iterate": "each",
	"findFirst": "firstPage", "first": "firstPage", "take": "firstPage", "get": "getById", "fetch": "getById", "read": "getById", "load": "getById",
	"findOne": "findById", "findUnique": "findById", "exists": "findById", "createMany": "upsertMany", "insertMany": "upsertMany", "bulkCreate": "upsertMany",
	"updateMany": "updateByQuery", "removeMany": "deleteMany", "deleteAll": "deleteByQuery", "groupBy": "aggregate", "sum": "aggregate", "length": "count",
}

// otherOutputs are what scripts call the members of SDK.Out.
var otherOutputs = map[string]string{
	"log": "info", "print": "info", "write": "info", "debug": "info", "say": "answer", "return": "answer", "result": "answer", "send": "answer", "done": "answer",
}

// otherOptions are what other libraries call our options.
var otherOptions = map[string]string{
	"where": "filter", "query": "filter", "search": "q", "orderBy": "sort", "order": "sort", "include": "with", "expand": "with", "populate": "with",
	"limit": "pageSize", "take": "pageSize", "top": "pageSize", "first": "pageSize", "offset": "page", "skip": "page", "select": "fields", "tenant": "set",
}
