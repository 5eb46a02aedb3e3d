package model

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
)

// Types let callers write a number for an id only where one is taken.
func TestIntegerIDsAreNumeric(t *testing.T) {
	kind := func(name string, storage descriptor.Storage) *shim.Kind {
		return &shim.Kind{Type: name, Entity: &descriptor.Entity{
			Resource: catalog.Resource{Name: name, Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "parentId", Type: catalog.TypeID}, {Name: "size", Type: catalog.TypeInt}}},
			Key:      descriptor.Column{Field: "id", Name: "id", Storage: storage},
			Columns:  []descriptor.Column{{Field: "parentId", Name: "parent_id", Storage: storage}, {Field: "size", Name: "size", Storage: descriptor.Int}},
		}}
	}
	for storage, want := range map[descriptor.Storage]bool{descriptor.Int: true, descriptor.Text: false} {
		k := kind("Tag", storage)
		New(&shim.App{Kinds: []*shim.Kind{k}})
		r := &k.Entity.Resource
		require.Equal(t, []bool{want, want, false}, []bool{r.Key.Numeric, r.Fields[0].Numeric, r.Fields[1].Numeric})
	}
}
