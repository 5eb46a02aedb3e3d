package entities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// SQLite files that the app opens have no function for accents: a field that needs it is named at the start.
func TestAccentsNeedAFunction(t *testing.T) {
	town := &descriptor.Entity{Resource: catalog.Resource{Name: "Town"}, Columns: []descriptor.Column{{Field: "id"}, {Field: "name", Folding: descriptor.FoldsAccents}}}
	d := &databases{app: &shim.App{Graph: &descriptor.Graph{Entities: []*descriptor.Entity{town}}}}
	err := d.checkFolding(sqltext.SQLite{})
	require.Equal(t, fault.CapabilityUnsupported, fault.From(err).Code)
	require.ErrorContains(t, err, "these fields need: Town.name")
	for _, in := range []sqltext.Dialect{sqltext.SQLite{Folds: true}, sqltext.PostgreSQL{}} {
		require.NoError(t, d.checkFolding(in))
	}
	town.Columns[1].Folding = 0
	require.NoError(t, d.checkFolding(sqltext.SQLite{}))

	town.Columns[1].Folding = descriptor.FoldsKey // nor has any of theirs an index for it
	for _, in := range []sqltext.Dialect{sqltext.SQLite{}, sqltext.SQLite{Folds: true}, sqltext.PostgreSQL{}} {
		require.ErrorContains(t, d.checkFolding(in), "which these fields need: Town.name")
	}
}
