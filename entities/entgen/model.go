package entgen

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

// model is an ent graph as this extension sees it.
type model struct {
	review
	graph   *gen.Graph
	exposed map[string]*expose.Entity // by ent type
	deletes map[[2]string]string      // table and column -> what its foreign key does on delete
	foreign []foreign
	kinds   []kind
	imports imports
	hash    int32
	runtime bool // ent/runtime has to be imported
	circle  bool // the schemas import ent, so koan.go cannot import ent/runtime
}

// review is what is wrong with schemas.
type review struct {
	problems []string
	notes    []string // what works otherwise than it may be meant
}

// kind is one ent type.
type kind struct {
	*gen.Type
	Entity    *descriptor.Entity
	Generated []string
	SetFields []setter
	SetEdges  []edgeSetter
	Version   *gen.Field
	IDs       string // Go expression; "" where ids of the type cannot be exposed
	IDForm    setter // the form of the ids, if they have one
	IDType    string
	SetID     bool
}

// Forms are the forms that columns of an exposed type have.
func (k kind) Forms() (out []setter) {
	if k.IDForm.Form != "" {
		out = append(out, k.IDForm)
	}
	for _, s := range k.SetFields {
		if s.Field != "" {
			out = append(out, s)
		}
	}
	return out
}

// Scanners reports whether a form of the type refers to ValueScanners.
func (k kind) Scanners() bool {
	return strings.Contains(k.IDForm.Form, ".ValueScanner.") || slices.ContainsFunc(k.SetFields, func(s setter) bool { return strings.Contains(s.Form, ".ValueScanner.") })
}

// ScannerPackage is the name of the import that they need.
func (k kind) ScannerPackage() string { return scannerPackage(k.Type) }

// DefaultsOf is the Go expression of a function that sets a builder's defaults, if it
// has any. ent's own ends in an error where the app forgot to import the schemas'
// runtime; Save says that as well.
func (k kind) DefaultsOf(has bool) string {
	switch {
	case !has:
		return "func() {}"
	case k.NumHooks() > 0 || k.NumPolicy() > 0:
		return "func() { _ = b.defaults() }"
	}
	return "b.defaults"
}

// setter is one case of the generated Set.
type setter struct {
	Column   string // by which ent's mutation knows the field
	Call     string // "shim.Text(v, x.SetTitle)"
	FormName string // the variable of its form, "" where it has none
	Form     string // its value
	Field    string // JSON name of the column that the form is for, "" where only setting needs it
}

type edgeSetter struct {
	Name   string
	Link   string // statement; "" where the edge cannot be linked
	Unlink string
	Clear  string
}

func (m *review) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *review) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

func (m *model) read() {
	m.exposed, m.imports = map[string]*expose.Entity{}, imports{}
	keepDaysAsDates(m.graph)
	for _, n := range m.graph.Nodes {
		m.checkPlaces(n)
		if a := decode[expose.Entity](m, n.Name, n.Annotations, expose.EntityName); a != nil {
			m.exposed[n.Name] = a
		}
	}
	if len(m.exposed) == 0 {
		m.problem("no schema has the annotation expose.Entity, so nothing would be exposed")
	}
	m.checkSchemas()
	m.readTables()
	for _, n := range m.graph.Nodes {
		if n.IsView() || !n.HasOneFieldID() {
			if m.exposed[n.Name] != nil {
				m.problem("%s: %s cannot be exposed: entities have one id", n.Name, compositeIDName(n))
			}
			continue
		}
		m.kinds = append(m.kinds, m.readKind(n))
	}
}

// decode reads an annotation, which ent passes as a JSON map.
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
	k := kind{Type: n, SetID: n.ID.UserDefined, IDType: m.imports.typeName(n.ID)}
	var own string
	if k.IDs, own = m.ids(n); own != "" {
		k.IDForm = setter{FormName: formName(n, n.ID), Form: own, Field: "id"}
	}
	for _, f := range n.Fields {
		if f.Default && f.DefaultFunc() || f.UpdateDefault {
			k.Generated = append(k.Generated, f.StorageKey())
		}
		if s, problem := m.setter(n, f); problem == "" { // readField reports a problem
			k.SetFields = append(k.SetFields, s)
		}
	}
	for _, e := range n.EdgesWithID() {
		k.SetEdges = append(k.SetEdges, m.edgeCase(e))
	}
	if a := m.exposed[n.Name]; a != nil {
		m.readEntity(&k, n, a)
	}
	return k
}

// ids returns the Go expression of a type's id form, and of the form of its own
// that it needs, if it does.
func (m *model) ids(n *gen.Type) (ids, own string) {
	f := n.ID
	s, problem := shapeOf(f, &expose.Field{})
	pointer := f.HasGoType() && f.Type.RType.IsPtr()
	switch {
	case problem == "" && s.Seen != "" && s.Type != catalog.TypeJSON && !pointer && n.ID.UserDefined:
		return "shim.OwnIDs(" + formName(n, f) + ")", formExpr(n, f, s)
	case problem == "" && s.Convert == "Text" && s.Type != catalog.TypeEnum:
		return fmt.Sprintf("shim.TextIDs[%s]()", m.imports.typeName(f)), ""
	case problem == "" && s.Convert == "Int":
		return fmt.Sprintf("shim.IntIDs[%s]()", m.imports.typeName(f)), ""
	case problem == "" && s.Convert == "UUID":
		return "shim.UUIDs()", ""
	}
	if m.exposed[n.Name] != nil {
		m.problem("%s.id: ids of the type %s cannot be exposed; use a string, an integer, a UUID, or a type with Value, Scan, MarshalText and UnmarshalText that is not a pointer", n.Name, f.Type)
	}
	return "", ""
}

// setter returns the generated code that sets a field, or says why it cannot be set.
func (m *model) setter(n *gen.Type, f *gen.Field) (out setter, problem string) {
	a := decode[expose.Field](m, n.Name+"."+f.Name, f.Annotations, expose.FieldName)
	if a == nil {
		a = &expose.Field{}
	}
	s, problem := shapeOf(f, a)
	if problem != "" {
		return out, problem
	}
	if s.Seen == "" {
		return setter{Column: f.StorageKey(), Call: fmt.Sprintf("shim.%s(v, x.%s)", s.Convert, f.MutationSet())}, ""
	}
	out = setter{Column: f.StorageKey(), Call: fmt.Sprintf("%s.Set(v, x.%s)", formName(n, f), f.MutationSet()), FormName: formName(n, f), Form: formExpr(n, f, s)}
	if !s.Kept {
		out.Field = camel(f.Name)
	}
	return out, ""
}

func (m *model) edgeCase(e *gen.Edge) edgeSetter {
	id := m.imports.typeName(e.Type.ID)
	s := edgeSetter{Name: e.Name, Clear: fmt.Sprintf("x.%s()", e.MutationClear())}
	if e.Unique {
		s.Link = fmt.Sprintf("x.%s(ids[0].(%s))", e.MutationSet(), id)
		return s
	}
	s.Link = fmt.Sprintf("x.%s(shim.IDs[%s](ids)...)", e.MutationAdd(), id)
	s.Unlink = fmt.Sprintf("x.%s(shim.IDs[%s](ids)...)", e.MutationRemove(), id)
	return s
}

var setPattern = regexp.MustCompile(`^[a-z0-9_-]{1,48}$|^[a-z0-9_-]{0,47}\*$`)

// numbered reports whether the database counts an id of the schema up where none is given.
func numbered(id *gen.Field) bool { return id.Type.Type.Integer() && !id.Default && id.PK().Increment }

func (m *model) readEntity(k *kind, n *gen.Type, a *expose.Entity) {
	keyShape, _ := shapeOf(n.ID, &expose.Field{}) // ids reports a problem
	made := !n.ID.UserDefined || n.ID.Default || numbered(n.ID)
	e := &descriptor.Entity{
		Table: n.Table(), Hooked: n.NumHooks()+n.NumPolicy()+n.NumInterceptors() > 0, Referrers: m.referrers(n.Table()), Unexposed: m.unexposed(n.Table()), ReadScopes: a.ReadScopes, WriteScopes: a.WriteScopes, DeleteScopes: a.DeleteScopes,
		Resource: catalog.Resource{
			Name: n.Name, Description: a.Description, Aliases: a.Aliases, Sets: a.Sets, ReadOnly: isSet(a.ReadOnly), Cascades: isSet(a.Cascades), Kept: a.Undo != nil && !*a.Undo,
			Versioned: a.Version != "", Exposure: exposure.Mode(a.Exposure), Operations: a.Operations,
			Key: catalog.Field{Name: "id", Description: m.describeID(n), Type: catalog.TypeID, Required: !made, Immutable: true, Generated: made, ReadOnly: !n.ID.UserDefined},
		},
		Key: descriptor.Column{Field: "id", Ent: n.ID.Name, Name: n.ID.StorageKey(), Storage: keyShape.Storage, Folding: keyFolding(n.ID)},
	}
	k.Entity = e
	m.checkEntity(n, a)
	claimed := map[string]string{"id": "the id"}
	claim := func(json, what string) {
		if by, ok := claimed[json]; ok {
			m.problem("%s.%s: its JSON name %q is already used by %s", n.Name, what, json, by)
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
	e.UpsertBy, e.FoldedKeys = m.upsertBy(n, e, a), m.foldedKeys(n, e)
	m.checkVersion(n, a.Version, k.Version)
	for _, ed := range n.Edges {
		m.checkCreatable(n, ed)
		ce, de, ok := m.readEdge(n, ed)
		if !ok {
			continue
		}
		claim(ce.Name, ed.Name)
		if ce.Name == "all" {
			m.problem("%s.%s: callers say \"all\" for every relationship: rename the edge, or hide it with expose.Edge{Hidden: expose.Yes()}", n.Name, ed.Name)
		}
		m.checkSets(n, ed)
		e.Resource.Edges, e.Edges = append(e.Resource.Edges, ce), append(e.Edges, de)
	}
}

// checkSets reports an edge that leads nowhere in some sets of its entity. A set is
// a database of its own, so what an edge refers to is in the same set; where the
// target does not live there, the edge could never be linked.
func (m *model) checkSets(n *gen.Type, e *gen.Edge) {
	own, target := sets(m.exposed[n.Name]), sets(m.exposed[e.Type.Name])
	for _, set := range own {
		if !slices.ContainsFunc(target, func(pattern string) bool { return includesPattern(pattern, set) }) {
			m.problem("%s.%s: %s has the set %q, and %s has %s only: a relationship cannot leave its set. Give %s the set too, or hide the edge from callers with expose.Edge{Hidden: expose.Yes()}",
				n.Name, e.Name, n.Name, set, e.Type.Name, strings.Join(target, ", "), e.Type.Name)
		}
	}
}

// sets are those that an entity lives in.
func sets(a *expose.Entity) []string {
	if len(a.Sets) == 0 {
		return []string{"default"}
	}
	return a.Sets
}

// includesPattern reports whether every set that one pattern means is meant by another.
func includesPattern(pattern, set string) bool {
	prefix, several := strings.CutSuffix(pattern, "*")
	return pattern == set || several && strings.HasPrefix(set, prefix)
}

// checkVersion wants a field that every entity has and that each update can count
// up.
func (m *review) checkVersion(n *gen.Type, name string, f *gen.Field) {
	switch {
	case name == "":
	case f == nil:
		m.problem("%s: the version field %q does not exist", n.Name, name)
	case !f.Type.Type.Integer() || !f.SupportsMutationAdd():
		m.problem("%s.%s: a version field must be an integer", n.Name, name)
	case f.Optional || f.Immutable || !f.Default:
		m.problem("%s.%s: a version field must have a default and be neither Optional nor Immutable", n.Name, name)
	}
}

func (m *model) checkEntity(n *gen.Type, a *expose.Entity) {
	// The engine's statements name tables only: they would miss one in another
	// schema, or find one of the same name.
	if at := n.EntSQL(); at != nil && at.Schema != "" {
		m.problem("%s: it is annotated with the database schema %q, but tables are found by the connection's search_path: remove the annotation and set search_path", n.Name, at.Schema)
	}
	for _, s := range a.Sets {
		if !setPattern.MatchString(s) {
			m.problem("%s: %q is not a set: names match [a-z0-9_-]{1,48}, patterns end in *", n.Name, s)
		}
	}
	m.checkName(n)
	m.checkOperations(n, a)
	m.checkScopes(n.Name, "ReadScopes", a.ReadScopes)
	m.checkScopes(n.Name, "WriteScopes", a.WriteScopes)
	m.checkScopes(n.Name, "DeleteScopes", a.DeleteScopes)
	if _, err := exposure.Parse(a.Exposure); a.Exposure != "" && (err != nil || exposure.Mode(a.Exposure) == exposure.Auto) {
		m.problem("%s: %q is not an exposure: want code, tools or full", n.Name, a.Exposure)
	}
}
