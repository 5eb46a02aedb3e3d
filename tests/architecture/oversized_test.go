package architecture

// largeReceivers are the types with more than 25 methods.
var largeReceivers = map[string]oversized{
	"framework/catalog.View":   {29, "one question each that surfaces ask of what a caller may see"},
	"framework/ledger.Journal": {30, "writes runs, finds them again and forgets them in the same tables"},
	"framework/run.Attempt":    {31, "what the participants of a run ask of its attempt, mostly in a line each"},
	"framework/run.Run":        {29, "what the participants of a run ask of it, mostly in a line each"},
}

// largeStructs are the structs with more than 15 fields.
var largeStructs = map[string]oversized{
	"entities/descriptor.Entity":              {16, "what the engine knows of an entity, one fact each"},
	"entities/expose.Field":                   {18, "what a schema may say of a field, one key each"},
	"entities/internal/library.Book":          {18, "the columns of a table, for tests of the engine"},
	"entities/shim.Kind":                      {20, "what generated code has for an entity, one function each"},
	"framework.App":                           {19, "what an app may say of itself, one key each"},
	"framework/catalog.Field":                 {28, "what surfaces say of a field, one fact each"},
	"framework/catalog.Resource":              {17, "what surfaces say of an entity, one fact each"},
	"framework/journal.Record":                {43, "a row of the journal, one column each"},
	"plugins/upstream.Config":                 {21, "what may be configured of a server, one key each"},
	"plugins/upstream/internal/signin.Record": {16, "what is kept of a sign-in, one key each"},
	"sample-pantrypal/seed/catalogue.Recipe":  {16, "a recipe in the file, one key each"},
}
