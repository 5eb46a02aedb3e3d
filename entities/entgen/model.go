package entgen

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"entgo.io/ent/entc/gen"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

// Operations are the ops that an entity can have, in catalog order. The names
// are those of the tools.
var Operations = []string{
	"collection", "get-by-id", "count", "aggregate", "new", "upsert", "upsert-many", "patch",
	"update-by-query", "delete-by-query", "delete", "delete-many",
}

// model is an ent graph as this extension sees it.
type model struct {
	graph    *gen.Graph
	exposed  map[string]*expose.Entity // by ent type
	deletes  map[[2]string]string      // table and column -> what its foreign key does on delete
	foreign  []foreign
	kinds    []kind
	hash     int32
	runtime  bool // ent/runtime has to be imported
	circle   bool // the schemas import ent, so koan.go cannot import ent/runtime
	problems []string
}

// kind is one ent type.
type kind struct {
	*gen.Type
	Entity    *descriptor.Entity
	Generated []string
	SetFields []setter
	SetEdges  []edgeSetter
	Version   *gen.Field
	ParseID   string
	SetID     bool
}

// setter is one case of the generated Set.
type setter struct {
	Name string // ent's
	Call string // "shim.Text(v, x.SetTitle)"
}

type edgeSetter struct {
	Name   string
	Link   string // statement; "" where the edge cannot be linked
	Unlink string
	Clear  string
}

func (m *model) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *model) read() {
	m.exposed = map[string]*expose.Entity{}
	for _, n := range m.graph.Nodes {
		if a := decode[expose.Entity](m, n.Name, n.Annotations, expose.EntityName); a != nil {
			m.exposed[n.Name] = a
		}
	}
	if len(m.exposed) == 0 {
		m.problem("no schema has the annotation expose.Entity, so nothing would be exposed")
	}
	m.readTables()
	for _, n := range m.graph.Nodes {
		if slices.Contains(taken, n.Name) {
			m.problem("%s: the generated file %s needs this name; call the schema something else", n.Name, File)
		}
		if n.IsView() || !n.HasOneFieldID() {
			if m.exposed[n.Name] != nil {
				m.problem("%s: views and types with composite ids cannot be exposed", n.Name)
			}
			continue
		}
		m.kinds = append(m.kinds, m.readKind(n))
	}
}

// taken are names that the generated file has for itself.
var taken = []string{"Koan", "Entities", "EntitiesOption", "OnClient", "OnCreateSet"}

// decode reads an annotation, which ent gives as a JSON map.
func decode[T any](m *model, where string, all gen.Annotations, name string) *T {
	raw, ok := all[name]
	if !ok {
		return nil
	}
	b, err := json.Marshal(raw)
	v := new(T)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		m.problem("%s: the annotation %s cannot be read: %v", where, name, err)
		return nil
	}
	return v
}

func (m *model) readKind(n *gen.Type) kind {
	k := kind{Type: n, SetID: n.ID.UserDefined}
	k.ParseID = m.parseID(n)
	for _, f := range n.Fields {
		if f.Default && f.DefaultFunc() || f.UpdateDefault {
			k.Generated = append(k.Generated, f.Name)
		}
		call, err := m.setCall(n, f)
		if err != "" {
			if m.exposed[n.Name] != nil {
				m.problem("%s.%s: %s", n.Name, f.Name, err)
			}
			continue
		}
		k.SetFields = append(k.SetFields, setter{f.Name, call})
	}
	for _, e := range n.EdgesWithID() {
		k.SetEdges = append(k.SetEdges, edgeCase(e))
	}
	if a := m.exposed[n.Name]; a != nil {
		m.readEntity(&k, n, a)
	}
	return k
}

func (m *model) parseID(n *gen.Type) string {
	switch t := n.ID.Type; {
	case t.Type == field.TypeString && basic(n.ID, "string"):
		return fmt.Sprintf("shim.TextID[%s]", t)
	case t.Type.Integer() && basic(n.ID, ""):
		return fmt.Sprintf("shim.IntID[%s]", t)
	case t.Type == field.TypeUUID && t.PkgPath == "github.com/google/uuid":
		return "shim.UUIDID"
	}
	if m.exposed[n.Name] != nil {
		m.problem("%s.id: ids of the type %s are not supported; use a string, an integer or github.com/google/uuid", n.Name, n.ID.Type)
	}
	return ""
}

// basic tells whether a field's Go type is, or is based on, a basic one.
func basic(f *gen.Field, kind string) bool {
	return !f.HasGoType() || f.Type.RType.Kind.String() == kind ||
		kind == "" && strings.Contains("int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64", f.Type.RType.Kind.String())
}

// setCall gives the Go call that sets a field, or says why it cannot be set.
func (m *model) setCall(n *gen.Type, f *gen.Field) (call, problem string) {
	if f.HasValueScanner() {
		return "", "fields with a ValueScanner are not supported by this version"
	}
	conv := ""
	switch t := f.Type; {
	case t.Type == field.TypeEnum, t.Type == field.TypeString:
		if t.Type == field.TypeEnum || basic(f, "string") {
			conv = "Text"
		}
	case t.Type == field.TypeBool && basic(f, "bool"):
		conv = "Bool"
	case t.Type.Integer() && basic(f, ""):
		conv = "Int"
	case t.Type.Float() && (basic(f, "float64") || basic(f, "float32")):
		conv = "Float"
	case t.Type == field.TypeTime && t.String() == "time.Time":
		conv = "Time"
	case t.Type == field.TypeBytes && basic(f, "slice"):
		conv = "Bytes"
	case t.Type == field.TypeUUID && t.PkgPath == "github.com/google/uuid":
		conv = "UUID"
	case t.Type == field.TypeJSON:
		conv = "JSON"
	}
	if conv == "" {
		return "", fmt.Sprintf("the type %s is not supported; use one of ent's own types, or leave the field out of an exposed schema", f.Type)
	}
	return fmt.Sprintf("shim.%s(v, x.%s)", conv, f.MutationSet()), ""
}

func edgeCase(e *gen.Edge) edgeSetter {
	s := edgeSetter{Name: e.Name, Clear: fmt.Sprintf("x.%s()", e.MutationClear())}
	if e.Unique {
		s.Link = fmt.Sprintf("x.%s(ids[0].(%s))", e.MutationSet(), e.Type.ID.Type)
		return s
	}
	s.Link = fmt.Sprintf("x.%s(shim.IDs[%s](ids)...)", e.MutationAdd(), e.Type.ID.Type)
	s.Unlink = fmt.Sprintf("x.%s(shim.IDs[%s](ids)...)", e.MutationRemove(), e.Type.ID.Type)
	return s
}

var setPattern = regexp.MustCompile(`^[a-z0-9_-]{1,48}$|^[a-z0-9_-]{0,47}\*$`)

func (m *model) readEntity(k *kind, n *gen.Type, a *expose.Entity) {
	if n.NumPolicy() > 0 {
		m.problem("%s: privacy policies are not supported by this version; an exposed schema with a policy would not be protected", n.Name)
	}
	if n.NumInterceptors() > 0 {
		m.problem("%s: interceptors are not supported by this version; reads of an exposed schema would pass them by", n.Name)
	}
	e := &descriptor.Entity{
		Table: n.Table(), Hooked: n.NumHooks() > 0, Referrers: m.referrers(n.Table()), ReadScopes: a.ReadScopes, WriteScopes: a.WriteScopes,
		Resource: catalog.Resource{
			Name: n.Name, Description: a.Description, Sets: a.Sets, ReadOnly: a.ReadOnly != nil && *a.ReadOnly,
			Versioned: a.Version != "", Exposure: exposure.Mode(a.Exposure), Operations: a.Operations,
			Key: catalog.Field{Name: "id", Type: catalog.TypeID, Required: n.ID.UserDefined && !n.ID.Default, Immutable: true, Generated: !n.ID.UserDefined || n.ID.Default, ReadOnly: !n.ID.UserDefined},
		},
		Key: descriptor.Column{Field: "id", Ent: n.ID.Name, Name: n.ID.StorageKey(), Storage: idStorage(n.ID)},
	}
	k.Entity = e
	m.checkEntity(n, a)
	claimed := map[string]string{"id": "the id"}
	claim := func(json, what string) {
		if by, ok := claimed[json]; ok {
			m.problem("%s.%s: its JSON name %q is taken by %s", n.Name, what, json, by)
		}
		claimed[json] = what
	}
	for _, f := range n.Fields {
		cf, col := m.readField(n, f, a.Version)
		claim(cf.Name, f.Name)
		e.Resource.Fields, e.Columns = append(e.Resource.Fields, cf), append(e.Columns, col)
		e.Resource.Searchable = e.Resource.Searchable || cf.Searchable
		if f.Name == a.Version {
			k.Version, e.VersionColumn = f, f.StorageKey()
		}
	}
	if a.Version != "" && k.Version == nil {
		m.problem("%s: the version field %q does not exist", n.Name, a.Version)
	}
	for _, ed := range n.Edges {
		ce, de, ok := m.readEdge(n, ed)
		if !ok {
			continue
		}
		claim(ce.Name, ed.Name)
		e.Resource.Edges, e.Edges = append(e.Resource.Edges, ce), append(e.Edges, de)
	}
}

func (m *model) checkEntity(n *gen.Type, a *expose.Entity) {
	for _, s := range a.Sets {
		if !setPattern.MatchString(s) {
			m.problem("%s: %q is not a set: names match [a-z0-9_-]{1,48}, patterns end in *", n.Name, s)
		}
	}
	for _, op := range a.Operations {
		if !slices.Contains(Operations, op) {
			m.problem("%s: there is no operation %q; there are %s", n.Name, op, strings.Join(Operations, ", "))
		}
	}
	if _, err := exposure.Parse(a.Exposure); a.Exposure != "" && (err != nil || exposure.Mode(a.Exposure) == exposure.Auto) {
		m.problem("%s: %q is not an exposure: want code, tools or full", n.Name, a.Exposure)
	}
}

func idStorage(f *gen.Field) descriptor.Storage {
	switch {
	case f.Type.Type.Integer():
		return descriptor.Int
	case f.Type.Type == field.TypeUUID:
		return descriptor.UUID
	}
	return descriptor.Text
}
