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
	town := &descriptor.Entity{Resource: catalog.Resource{Name: "Town"}, Columns: []descriptor.Column{{Field: "id"}, {Field: "name", FoldsAccents: true}}}
	d := &databases{app: &shim.App{Graph: &descriptor.Graph{Entities: []*descriptor.Entity{town}}}}
	err := d.checkAccents(sqltext.SQLite{})
	require.Equal(t, fault.CapabilityUnsupported, fault.From(err).Code)
	require.ErrorContains(t, err, "these fields need: Town.name")
	for _, in := range []sqltext.Dialect{sqltext.SQLite{Folds: true}, sqltext.PostgreSQL{}} {
		require.NoError(t, d.checkAccents(in))
	}
	town.Columns[1].FoldsAccents = false
	require.NoError(t, d.checkAccents(sqltext.SQLite{}))
}
