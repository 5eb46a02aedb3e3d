package read_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/race"
)

func decoder(op string) func(raw []byte, e *descriptor.Entity) error {
	return map[string]func([]byte, *descriptor.Entity) error{
		"collection": func(raw []byte, e *descriptor.Entity) error {
			_, err := read.DecodeCollection(raw, e, graph)
			return err
		},
		"get-by-id": func(raw []byte, e *descriptor.Entity) error {
			_, err := read.DecodeGet(raw, e, graph)
			return err
		},
		"count": func(raw []byte, e *descriptor.Entity) error {
			_, err := read.DecodeCount(raw, e, graph)
			return err
		},
	}[op]
}

func TestWrongInputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, op, entity, input, path, says string }{
		{"not JSON", "collection", "Book", `{`, "", "not JSON"},
		{"two values", "collection", "Book", `{} {}`, "", "not JSON"},
		{"no object", "collection", "Book", `[]`, "", "object"},
		{"unknown member", "collection", "Book", `{"pagesize":3}`, "/pagesize", `did you mean "pageSize"`},
		{"member of another operation", "count", "Book", `{"page":3}`, "/page", "unknown input"},
		{"page 0", "collection", "Book", `{"page":0}`, "/page", "from 1"},
		{"page size beyond the limit", "collection", "Book", `{"pageSize":201}`, "/pageSize", "to 200"},
		{"half a page", "collection", "Book", `{"page":1.5}`, "/page", "from 1"},
		{"page of text", "collection", "Book", `{"page":"1"}`, "/page", "from 1"},
		{"count of text", "collection", "Book", `{"count":"no"}`, "/count", "true or false"},
		{"set of numbers", "collection", "Book", `{"set":1}`, "/set", "name of a set"},
		{"null for an object", "collection", "Book", `{"filter":null}`, "/filter", "object"},
		{"q of an entity without searchable fields", "collection", "Author", `{"q":"x"}`, "/q", "no searchable fields"},
		{"cursor of nothing", "collection", "Book", `{"cursor":""}`, "/cursor", "not a cursor"},
		{"cursor of a number", "collection", "Book", `{"cursor":1}`, "/cursor", "nextCursor"},
		{"cursor that is no base64", "collection", "Book", `{"cursor":"**"}`, "/cursor", "not a cursor"},
		{"cursor too long", "collection", "Book", `{"cursor":"` + strings.Repeat("A", read.MaxCursor+1) + `"}`, "/cursor", "nextCursor"},
		{"q too long", "collection", "Book", `{"q":"` + strings.Repeat("x", 201) + `"}`, "/q", "at most 200"},
		{"q with too many words", "collection", "Book", `{"q":"a b c d e f g h i"}`, "/q", "at most 8 words"},
		{"unknown sort", "collection", "Book", `{"sort":"-tilte"}`, "/sort", `did you mean "title"`},
		{"unknown sort in a list", "collection", "Book", `{"sort":["title","-nope"]}`, "/sort/1", `"nope"`},
		{"sort twice", "collection", "Book", `{"sort":"title,-title"}`, "/sort", "more than once"},
		{"sort by JSON", "collection", "Book", `{"sort":"meta"}`, "/sort", "cannot be sorted"},
		{"sort by a secret", "collection", "Book", `{"sort":"secret"}`, "/sort", "unknown field"},
		{"sort of a number", "collection", "Book", `{"sort":1}`, "/sort", "string"},
		{"sort of a number in a list", "collection", "Book", `{"sort":[1]}`, "/sort/0", "{field, nulls}"},
		{"sort over an unknown relationship", "collection", "Book", `{"sort":"-autor.name"}`, "/sort", `did you mean "author"`},
		{"sort over a hidden relationship", "collection", "Book", `{"sort":"reviews.id"}`, "/sort", "unknown relationship"},
		{"sort by an unknown field of a relationship", "collection", "Book", `{"sort":["title","author.nmae"]}`, "/sort/1", `did you mean "name"`},
		{"sort over a relationship to many", "collection", "Book", `{"sort":"tags.label"}`, "/sort", "relationship to many"},
		{"sort over a field", "collection", "Book", `{"sort":"title.x"}`, "/sort", "not a relationship"},
		{"sort by a relationship", "collection", "Book", `{"sort":"author"}`, "/sort", `"author.id"`},
		{"sort by the same twice over a relationship", "collection", "Book", `{"sort":["author.name",{"field":"-author.name"}]}`, "/sort/1/field", "more than once"},
		{"sort over too many relationships", "collection", "Author", `{"sort":"mentor.mentor.mentor.mentor.mentor.name"}`, "/sort", "at most 4"},
		{"sort without a field", "collection", "Book", `{"sort":{"nulls":"last"}}`, "/sort/field", "what to sort by"},
		{"unknown place of nulls", "collection", "Book", `{"sort":{"field":"pages","nulls":"lsat"}}`, "/sort/nulls", `did you mean "last"`},
		{"place of nulls of a number", "collection", "Book", `{"sort":[{"field":"pages","nulls":1}]}`, "/sort/0/nulls", `"first" or "last"`},
		{"unknown option of a sort", "collection", "Book", `{"sort":{"field":"pages","nulla":"last"}}`, "/sort/nulla", `did you mean "nulls"`},
		{"no field", "collection", "Book", `{"fields":[]}`, "/fields", "at least one"},
		{"empty field", "collection", "Book", `{"fields":""}`, "/fields", "unknown field"},
		{"unknown field", "get-by-id", "Book", `{"id":"x","fields":["titel"]}`, "/fields/0", `did you mean "title"`},
		{"write-only field", "get-by-id", "Book", `{"id":"x","fields":"pin"}`, "/fields", "unknown field"},
		{"relationship as field", "get-by-id", "Book", `{"id":"x","fields":"author"}`, "/fields", "`with`"},
		{"unknown field of a related entity", "get-by-id", "Book", `{"id":"x","fields":"title,author.nmae"}`, "/fields", `of Author; did you mean "name"`},
		{"field of an unknown relationship", "get-by-id", "Book", `{"id":"x","fields":["autor.name"]}`, "/fields/0", `did you mean "author"`},
		{"field of a field", "get-by-id", "Book", `{"id":"x","fields":"title.length"}`, "/fields", `unknown relationship "title"`},
		{"field with a dot too many", "get-by-id", "Book", `{"id":"x","fields":"author."}`, "/fields", "unknown field"},
		{"fields too deep", "get-by-id", "Author", `{"id":1,"fields":"mentor.mentor.mentor.mentor.mentor.name"}`, "/fields", "4 deep"},
		{"secret of a related entity", "get-by-id", "Author", `{"id":1,"fields":"books.secret"}`, "/fields", "unknown field"},
		{"unknown relationship", "get-by-id", "Book", `{"id":"x","with":"autor"}`, "/with", `did you mean "author"`},
		{"unknown nested relationship", "get-by-id", "Book", `{"id":"x","with":"author.tags"}`, "/with", "of Author"},
		{"relationship to what is not exposed", "get-by-id", "Book", `{"id":"x","with":"reviews"}`, "/with", "unknown relationship"},
		{"relationship of what has none", "get-by-id", "Shelf", `{"id":1,"with":"all"}`, "/with", "no relationships"},
		{"too deep", "get-by-id", "Author", `{"id":1,"with":"mentor.mentor.mentor.mentor.mentor"}`, "/with", "4 deep"},
		{"option of an edge", "get-by-id", "Author", `{"id":1,"with":{"books":{"limti":1}}}`, "/with/books/limti", `did you mean "limit"`},
		{"limit 0", "get-by-id", "Author", `{"id":1,"with":{"books":{"limit":0}}}`, "/with/books/limit", "from 1"},
		{"limit below 0", "get-by-id", "Author", `{"id":1,"with":{"books":{"limit":-1}}}`, "/with/books/limit", "from 1"},
		{"limit too high", "get-by-id", "Author", `{"id":1,"with":{"books":{"limit":1001}}}`, "/with/books/limit", "to 1000"},
		{"limit of text", "get-by-id", "Author", `{"id":1,"with":{"books":{"limit":"1"}}}`, "/with/books/limit", "from 1"},
		{"sort of an edge", "get-by-id", "Author", `{"id":1,"with":{"books":{"sort":"-tilte"}}}`, "/with/books/sort", `did you mean "title"`},
		{"with of an edge", "get-by-id", "Author", `{"id":1,"with":{"books":{"with":{"tgas":true}}}}`, "/with/books/with/tgas", `did you mean "tags"`},
		{"deep with as an object", "get-by-id", "Author", `{"id":1,"with":{"mentor":{"with":{"mentor":{"with":{"mentor":{"with":{"mentor":{"with":{"mentor":true}}}}}}}}}}`, "/with/mentor/with/mentor/with/mentor/with/mentor/with/mentor", "4 deep"},
		{"too many relationships", "get-by-id", "Author", `{"id":1,"with":"books.author,books.tags.books.author,books.tags.books.tags,mentor.books.author,mentor.books.tags.books,mentor.mentor.books.tags,mentor.mentor.mentor.books,mentor.pupils.books.tags,mentor.pupils.mentor.books,mentor.desk.owner.books,pupils.books.tags.books,pupils.books.author.books,pupils.pupils.books.tags,pupils.pupils.pupils.books,pupils.mentor.books,pupils.desk.owner"}`, "/with", "at most 32"},
		{"limit of an edge to one", "get-by-id", "Author", `{"id":1,"with":{"mentor":{"limit":1}}}`, "/with/mentor/limit", "to one"},
		{"filter of an edge", "get-by-id", "Author", `{"id":1,"with":{"books":{"filter":{"nope":1}}}}`, "/with/books/filter/nope", "unknown field"},
		{"false for an edge", "get-by-id", "Author", `{"id":1,"with":{"books":false}}`, "/with/books", "true, or an object"},
		{"no id", "get-by-id", "Author", `{}`, "/id", "required"},
		{"id of letters for a number", "get-by-id", "Author", `{"id":"jane"}`, "/id", "integer id"},
		{"number for an id of letters", "get-by-id", "Book", `{"id":7}`, "/id", "id string"},
		{"id with NUL", "get-by-id", "Book", `{"id":"a\u0000"}`, "/id", "id string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fault.From(decoder(c.op)([]byte(c.input), graph.Entity(c.entity)))
			require.NotNil(t, f)
			require.Equal(t, fault.InvalidPayload, f.Code)
			require.Equal(t, c.path, f.Path)
			require.Contains(t, f.Message, c.says)
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	f := fault.From(decoder("collection")([]byte(`{"page":0,"sort":"nope","filter":{"titel":1,"pages":"x"},"with":"autor","nope":1,"cursor":"x"}`), books))
	var paths []string
	for _, d := range f.Details.([]fault.Detail) {
		paths = append(paths, d.Path)
	}
	require.ElementsMatch(t, []string{"/page", "/page", "/sort", "/filter/titel", "/filter/pages", "/with", "/nope", "/cursor"}, paths)
}

func compiled(t testing.TB, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

// What the decoder takes the schema takes; so what the schema refuses the
// decoder refuses.
func TestSchemasAreNoStricterThanDecoders(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for _, entity := range graph.Entities {
		name := entity.Resource.Name
		collection, count := compiled(t, read.CollectionSchema(entity, graph)), compiled(t, read.CountSchema(entity, graph))
		for range 500 {
			filter := encoded(g.filter(name, 2), "")
			for schema, v := range map[*jsonschema.Schema]any{
				collection: map[string]any{"filter": filter, "sort": pick[any](g, "-id", []any{"id"}), "with": pick[any](g, "books", []any{"all"}, map[string]any{"books": true}), "page": 2, "count": false, "set": "default"},
				count:      map[string]any{"filter": filter},
			} {
				switch m := v.(map[string]any); {
				case name == "Desk" && m["with"] != nil:
					m["with"] = "owner"
				case name == "Shelf":
					delete(m, "with")
				case name == "Book" && m["with"] != nil:
					m["with"], m["q"] = "author,tags", "x"
				}
				raw, err := json.Marshal(v)
				require.NoError(t, err)
				requireAccepted(t, schema, raw)
				op := "collection"
				if schema == count {
					op = "count"
				}
				require.NoError(t, decoder(op)(raw, entity), string(raw))
			}
		}
	}
	requireAccepted(t, compiled(t, read.GetSchema(graph.Entity("Author"), graph)), []byte(`{"id":1,"with":"all","fields":["name"],"set":"default"}`))
}

func requireAccepted(t testing.TB, s *jsonschema.Schema, raw []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	require.NoError(t, s.Validate(v), string(raw))
}

func TestSchemasRefuseWhatIsPlainlyWrong(t *testing.T) {
	t.Parallel()
	s := compiled(t, read.CollectionSchema(books, graph))
	for _, raw := range []string{
		`{"pagesize":1}`, `{"page":0}`, `{"pageSize":201}`, `{"filter":{"titel":1}}`, `{"filter":{"title":1}}`, `{"filter":{"inPrint":"x"}}`, `{"filter":{"pages":1.5}}`,
		`{"filter":{"genre":1}}`, `{"filter":{"meta":1}}`, `{"filter":{"secret":"x"}}`, `{"filter":{"reviews":{"$exists":true}}}`,
		`{"filter":{"tags":{}}}`, `{"filter":{"tags":null}}`, `{"filter":{"author":"x"}}`, `{"filter":{"title":null}}`, `{"filter":{"$or":[]}}`, `{"fields":[]}`, `{"sort":1}`, `{"sort":{"field":1}}`, `{"sort":{"nulls":"last"}}`, `{"sort":{"field":"pages","nulls":"middle"}}`, `{"with":1}`,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
		require.NoError(t, err)
		require.Error(t, s.Validate(v), raw)
		require.Error(t, decoder("collection")([]byte(raw), books), raw)
	}
}

// FuzzCollection: whatever the decoder takes the schema takes too, and SQLite
// executes it without an error.
func FuzzCollection(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"filter":{"title":{"$contains":"'; DROP TABLE books; --"}},"sort":"-title,id","with":"all","pageSize":3}`,
		`{"filter":{"$or":[{"pages":{"$in":[1,null]}},{"$not":{"author":{"books":{"$every":{"price":{"$lte":1e308}}}}}}]},"count":false}`,
		`{"filter":{"publishedAt":{"$between":["0001-01-01T00:00:00Z","9999-12-31T23:59:59.999999999Z"]},"cost":{"$gt":"1e300"}},"q":"a% _b"}`,
		`{"filter":{"sold":"9223372036854775807","cover":"AP8=","isbn":"6f2b1c1e-3a57-4f3e-8d8a-0c2f1b9d7e55"},"fields":"title","page":1000000000}`,
		`{"filter":{"meta":{"$path":{"a.b[0]":{"$in":[1,"x",null,true]},"\"c.d\"":{"$between":["a","b"]}}},"keywords":{"$all":["x","y"],"$size":2}},"q":"dün* [x"}`,
		`{"filter":{"$search":"a\\b'","meta":{"$has":1e308,"$null":false}},"fields":"author.mentor.name,tags.label","sort":"-cost,price"}`,
		`{"with":{"tags":{"limit":2,"sort":"-label","with":{"books":{"filter":{"meta":null},"limit":1}}},"author":{"fields":["name"]}}}`,
	} {
		f.Add([]byte(seed))
	}
	db, e := open(f, small())
	schema := compiled(f, read.CollectionSchema(books, graph))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := read.DecodeCollection(raw, books, graph)
		if err != nil {
			require.NotEqual(t, fault.Internal, fault.CodeOf(err))
			return
		}
		if c.Set == "" || c.Set == "default" {
			requireAccepted(t, schema, raw)
		}
		out, err := e.Collection(ctx, db, c)
		require.NoError(t, err)
		require.True(t, json.Valid(out))
	})
}
