package dynamic

import (
	"context"
	"fmt"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqlgraph"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// writer carries a mutation out.
type writer struct{ *mutation }

// through carries a mutation out behind the engine's hook, as generated code does.
func (m writer) through(ctx context.Context, do func(context.Context) error) error {
	if m.tx.hook == nil {
		return do(ctx)
	}
	last := ent.MutateFunc(func(ctx context.Context, made ent.Mutation) (ent.Value, error) {
		if made != ent.Mutation(m.mutation) {
			return nil, fmt.Errorf("unexpected mutation type %T", made)
		}
		return m.id, do(ctx)
	})
	_, err := m.tx.hook(last).Mutate(ctx, m.mutation)
	return err
}

// create is the Save of a new row.
func (m writer) create(ctx context.Context) (any, error) {
	m.fillCreated()
	err := m.through(ctx, func(ctx context.Context) error {
		if err := m.checkCreated(); err != nil {
			return err
		}
		return m.insert(ctx)
	})
	if err != nil {
		return nil, err
	}
	return m.id, nil
}

func (m writer) insert(ctx context.Context) error {
	if len(m.kind.entity.Key.Parts) > 0 {
		return composite(m).insert(ctx)
	}
	id := m.keySpec()
	if m.id != nil {
		key, err := m.kind.ids.BindID(m.id)
		if err != nil {
			return err
		}
		id.Value = key
	}
	schema, table := encodedTable(m.kind.entity.Table)
	spec := sqlgraph.NewCreateSpec(table, id)
	spec.Schema = schema
	for i := range m.cells {
		if c, s := &m.cells[i], &m.kind.slots[i]; c.change == put && !m.isShared(s) {
			spec.SetField(s.encoded(), s.kept, c.v)
		}
	}
	for i := range m.kind.edges {
		nodes, err := m.nodes(&m.kind.edges[i], m.linkedElsewhere(i))
		if err != nil {
			return err
		}
		if len(nodes) > 0 {
			spec.Edges = append(spec.Edges, m.kind.edges[i].spec(nodes))
		}
	}
	driver := m.tx.driver()
	if m.overrides() {
		driver = m.tx.overriding()
	}
	if err := sqlgraph.CreateNode(ctx, driver, spec); err != nil {
		return err
	}
	if m.id != nil {
		return nil
	}
	made, err := m.kind.ids.ScanID(spec.ID.Value)
	m.id = made
	return err
}

// overrides reports whether a new row has values of its own where only the database counts up.
func (m writer) overrides() bool {
	return m.id != nil && m.kind.entity.Key.Origin == descriptor.Counted ||
		slices.ContainsFunc(m.kind.slots, func(s slot) bool {
			return s.of != nil && s.of.Origin == descriptor.Counted && m.cells[m.kind.byColumn[s.column]].change == put
		})
}

// keySpec describes the key's column to ent's builders.
func (m writer) keySpec() *sqlgraph.FieldSpec {
	return sqlgraph.NewFieldSpec(sqltext.EncodeName(m.kind.entity.Key.Name), TypeOf(m.kind.entity.Key.Storage))
}

// update is the Save of a row that changes.
func (m writer) update(ctx context.Context) (any, error) {
	m.fillUpdated()
	return m.id, m.through(ctx, func(ctx context.Context) error {
		if err := m.checkUpdated(); err != nil {
			return err
		}
		return m.store(ctx)
	})
}

// store writes the changes of the row.
func (m writer) store(ctx context.Context) error {
	if len(m.kind.entity.Key.Parts) > 0 {
		return composite(m).update(ctx)
	}
	id := m.keySpec()
	key, err := m.kind.ids.BindID(m.id)
	if err != nil {
		return err
	}
	id.Value = key
	schema, table := encodedTable(m.kind.entity.Table)
	spec := sqlgraph.NewUpdateSpec(table, []string{id.Column}, id)
	spec.Node.Schema = schema
	spec.ScanValues = func(columns []string) ([]any, error) { return []any{new(any)}, nil }
	spec.Assign = func([]string, []any) error { return nil }
	if len(m.where) > 0 {
		spec.Predicate = m.matches
	}
	for i := range m.cells {
		s := &m.kind.slots[i]
		if m.isShared(s) {
			continue
		}
		switch c := &m.cells[i]; c.change {
		case put:
			spec.SetField(s.encoded(), s.kept, c.v)
		case added:
			spec.AddField(s.encoded(), s.kept, c.v)
		case cleared:
			spec.ClearField(s.encoded(), s.kept)
		case unchanged:
		}
	}
	if err := m.addEdges(spec); err != nil {
		return err
	}
	return sqlgraph.UpdateNode(ctx, m.tx.driver(), spec)
}

// addEdges says what a change does to the edges that are more than a column of the row itself.
func (m writer) addEdges(spec *sqlgraph.UpdateSpec) error {
	for i := range m.kind.edges {
		e := &m.kind.edges[i]
		if e.slot >= 0 && !e.Symmetric() {
			continue
		}
		if m.isCleared(i) {
			spec.Edges.Clear = append(spec.Edges.Clear, e.spec(nil))
		} else if m.links != nil {
			gone, err := m.nodes(e, m.links[i].remove)
			if err != nil {
				return err
			}
			if len(gone) > 0 {
				spec.Edges.Clear = append(spec.Edges.Clear, e.spec(gone))
			}
		}
		nodes, err := m.nodes(e, m.linked(i))
		if err != nil {
			return err
		}
		if len(nodes) > 0 {
			spec.Edges.Add = append(spec.Edges.Add, e.spec(nodes))
		}
	}
	return nil
}

// matches adds what the row has to be to be changed.
func (m writer) matches(s *sql.Selector) {
	for _, where := range m.where {
		where(s)
	}
}

// delete deletes the row.
func (m writer) delete(ctx context.Context) error {
	return m.through(ctx, func(ctx context.Context) error {
		if len(m.kind.entity.Key.Parts) > 0 {
			return composite(m).delete(ctx)
		}
		id := m.keySpec()
		key, err := m.kind.ids.BindID(m.id)
		if err != nil {
			return err
		}
		schema, table := encodedTable(m.kind.entity.Table)
		spec := sqlgraph.NewDeleteSpec(table, id)
		spec.Node.Schema = schema
		spec.Predicate = func(s *sql.Selector) {
			s.Where(sql.EQ(s.C(id.Column), key))
			m.matches(s)
		}
		affected, err := sqlgraph.DeleteNodes(ctx, m.tx.driver(), spec)
		if err == nil && affected == 0 {
			return &goneError{m.Type()}
		}
		return err
	})
}

// isShared reports whether a slot is a reference that both rows of a one-to-one edge have.
func (m writer) isShared(s *slot) bool { return s.edge >= 0 && m.kind.edges[s.edge].Symmetric() }

// linkedElsewhere returns the native ids that an edge gets, where linking them is more than a column of
// the row itself.
func (m writer) linkedElsewhere(i int) []any {
	if e := &m.kind.edges[i]; e.slot >= 0 && !e.Symmetric() {
		return nil
	}
	return m.linked(i)
}

// nodes returns native ids as the database has them.
func (m writer) nodes(e *edge, ids []any) ([]any, error) {
	out := make([]any, len(ids))
	for i, id := range ids {
		bound, err := e.target.ids.BindID(id)
		if err != nil {
			return nil, err
		}
		out[i] = bound
	}
	return out, nil
}

// relations are ent's, by the descriptor's.
var relations = map[descriptor.Relation]sqlgraph.Rel{
	descriptor.O2O: sqlgraph.O2O, descriptor.O2M: sqlgraph.O2M, descriptor.M2O: sqlgraph.M2O, descriptor.M2M: sqlgraph.M2M,
}

// spec describes an edge to ent's builders, with rows that it is to have or to lose; none are all.
func (e *edge) spec(nodes []any) *sqlgraph.EdgeSpec {
	key := &e.target.entity.Key
	s := &sqlgraph.EdgeSpec{
		Rel: relations[e.Relation], Inverse: e.Inverse,
		Target: &sqlgraph.EdgeTarget{IDSpec: sqlgraph.NewFieldSpec(sqltext.EncodeName(key.Name), TypeOf(key.Storage))},
	}
	for _, node := range nodes {
		s.Target.Nodes = append(s.Target.Nodes, node)
	}
	table := e.target.entity.Table
	switch {
	case e.JoinTable != "":
		table, s.Bidi = e.JoinTable, e.mutual
		s.Columns = []string{e.JoinOwn, e.JoinTarget}
		if e.Inverse { // all edges of a table name its columns in one order
			s.Columns = []string{e.JoinTarget, e.JoinOwn}
		}
	case e.Symmetric():
		s.Columns, s.Bidi = []string{e.OwnKey}, true
	default:
		s.Columns, s.Inverse = []string{e.TargetKey}, false
	}
	for i, column := range s.Columns {
		s.Columns[i] = sqltext.EncodeName(column)
	}
	s.Schema, s.Table = encodedTable(table)
	return s
}

// encodedTable returns what ent's builders write for the schema and the name of a table.
func encodedTable(qualified string) (schema, table string) {
	schema, table = sqltext.SplitQualified(qualified)
	if schema != "" {
		schema = sqltext.EncodeName(schema)
	}
	return schema, sqltext.EncodeName(table)
}

// encoded is what ent's builders write for the slot's column.
func (s *slot) encoded() string { return sqltext.EncodeName(s.column) }

// toMany reports whether an edge may lead to several rows.
func (e *edge) toMany() bool { return e.Relation == descriptor.O2M || e.Relation == descriptor.M2M }
