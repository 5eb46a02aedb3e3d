package wire

import "slices"

// methods says which SDK methods an entity's catalog op gives (CONTRACT
// section 3), in the order of the contract.
var methods = []struct {
	op    string
	names []string
}{
	{"collection", []string{"collection", "firstPage", "page", "each", "all"}},
	{"get-by-id", []string{"getById", "findById"}},
	{"count", []string{"count"}},
	{"aggregate", []string{"aggregate"}},
	{"new", []string{"new"}},
	{"upsert", []string{"upsert"}},
	{"upsert-many", []string{"upsertMany"}},
	{"patch", []string{"patch"}},
	{"update-by-query", []string{"updateByQuery"}},
	{"delete-by-query", []string{"deleteByQuery"}},
	{"delete", []string{"delete"}},
	{"delete-many", []string{"deleteMany"}},
}

// Methods returns the names of the SDK methods that an entity's op becomes, nil
// for an op that scripts have no method for.
func Methods(op string) []string {
	for _, m := range methods {
		if m.op == op {
			return m.names
		}
	}
	return nil
}

// MethodOps are the ops that become methods, in the order of the contract.
func MethodOps() []string {
	out := make([]string, len(methods))
	for i, m := range methods {
		out[i] = m.op
	}
	return out
}

// OpOf returns the op of an entity that an SDK method calls, "" for none of that name.
func OpOf(method string) string {
	for _, m := range methods {
		if slices.Contains(m.names, method) {
			return m.op
		}
	}
	return ""
}
