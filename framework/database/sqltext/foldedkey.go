package sqltext

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/database/fold"
)

// FoldedKey is a unique key of a table in which texts are the same that differ in case alone. Connections that write
// the table need fold.Function.
type FoldedKey struct {
	Table   string
	Columns []string
	Folded  []string // those of Columns whose case is ignored
}

// KeyPrefix is what names of folded keys begin with, and no name of an app's.
const KeyPrefix = "koan_unique_"

// Name identifies the key in a database, with what it is made of.
func (x *FoldedKey) Name() string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q", x.Table, x.Columns, x.Folded)
	return fmt.Sprintf("%s%08x", KeyPrefix, h.Sum32())
}

// List are the columns as they are compared.
func (x *FoldedKey) List() string {
	out := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		if out[i] = quoted(c); slices.Contains(x.Folded, c) {
			out[i] = fold.Function + "(" + out[i] + ")"
		}
	}
	return strings.Join(out, ",")
}

// Statement returns what makes the key.
func (x *FoldedKey) Statement() Statement {
	return Statement{
		"CREATE UNIQUE INDEX " + quoted(x.Name()) + " ON " + quoted(x.Table) + " (" + x.List() + ")",
		"make " + strings.Join(x.Columns, " with ") + " of " + x.Table + " unique, whatever the case",
	}
}

// DropKey returns what takes a folded key away.
func DropKey(name string) Statement {
	return Statement{"DROP INDEX IF EXISTS " + quoted(name), "drop a unique key whose case is ignored"}
}
