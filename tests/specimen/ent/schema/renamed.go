package schema

import (
	"regexp"
	"strings"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

// Renamed has every field of the Specimen, each with a column of another name, in
// a table, with an id and with edges that are named by hand as well. Its fields
// take turns at the styles in which apps name them.
type Renamed struct{ ent.Schema }

// Annotations implements ent.Interface.
func (Renamed) Annotations() []schema.Annotation {
	return []schema.Annotation{
		expose.Entity{Description: "A column of another name for every type.", Version: "editCount", UpsertBy: []string{"serialNo"}},
		entsql.Annotation{Table: "Renamed Things"},
	}
}

// Fields implements ent.Interface.
func (Renamed) Fields() []ent.Field {
	return append(
		renamed(false),
		field.Int("id").StorageKey("Row No"),
		field.String("serialNo").StorageKey("sn"),
		field.Int("editCount").StorageKey("row-revision").Default(1),
		field.String("title").StorageKey("headline").Optional().MinLen(2).MaxLen(30).Annotations(expose.Field{Searchable: expose.Yes()}),
		field.Time("changedAt").StorageKey("touched").Default(time.Now).UpdateDefault(time.Now),
		field.Int("parentID").StorageKey("up").Optional().Nillable(),
	)
}

// renamed are the fields of the Specimen, each with a column of another name. The
// engine writes all of an entity through ent's builders where a field is special:
// where ent's mutation has another value of it than its column.
func renamed(special bool) (out []ent.Field) {
	for i, f := range every() {
		d := f.Descriptor()
		if special != (d.ValueScanner != nil || d.Name == "words") {
			continue
		}
		d.StorageKey = "col_" + d.Name
		switch upper := strings.ToUpper(d.Name[:1]) + d.Name[1:]; i % 4 {
		case 0:
			d.Name = "the" + upper
		case 1:
			d.Name = "The" + upper
		case 2:
			d.Name += "ID"
		case 3:
			d.Name = "the_" + d.Name
		}
		out = append(out, f)
	}
	return out
}

// Edges implements ent.Interface.
func (Renamed) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("childItems", Renamed.Type).From("parentItem").Unique().Field("parentID"),
		edge.To("nickNames", NickName.Type).StorageKey(edge.Column("ofWhom")),
		edge.To("mainName", NickName.Type).Unique().StorageKey(edge.Column("chief")),
		edge.To("knownAs", NickName.Type).StorageKey(edge.Table("Known As"), edge.Columns("who", "asWhat")),
	}
}

// Indexes implements ent.Interface.
func (Renamed) Indexes() []ent.Index { return []ent.Index{index.Fields("serialNo").Unique()} }

// NickName has names of several words whose columns ent names, and the special
// fields of the Specimen.
type NickName struct{ ent.Schema }

// Annotations implements ent.Interface.
func (NickName) Annotations() []schema.Annotation {
	return []schema.Annotation{
		expose.Entity{Description: "A name of several words.", UpsertBy: []string{"serialNo"}, Version: "EditCount"},
		entsql.Checks(map[string]string{"no_local_urls": "home_url <> 'localhost'", "short_serials": "length(serial_no) < 30"}),
	}
}

// Fields implements ent.Interface.
func (NickName) Fields() []ent.Field {
	return append(
		renamed(true),
		field.Int("id"),
		field.String("serialNo").Unique(),
		field.String("homeURL").Optional().Nillable(),
		field.Int("EditCount").Default(1),
		field.Bool("isPublic").Optional(),
		field.JSON("otherForms", []string{}).Optional(),
		field.Time("madeAt").Default(time.Now),
		// Limits that nothing but ent's validators knows.
		field.String("motto").Optional().MinRuneLen(3).MaxRuneLen(5),
		field.String("plate").Optional().MaxLen(6).Match(regexp.MustCompile("^[A-Z]+$")),
		field.Float("score").Optional().Range(0.5, 9.75),
		field.Int("bornIn").Optional().Immutable().Range(1900, 2100),
		field.Bytes("seal").Optional().MaxLen(4),
	)
}

// Edges implements ent.Interface.
func (NickName) Edges() []ent.Edge {
	return []ent.Edge{edge.From("ownerItem", Renamed.Type).Ref("nickNames").Unique(), edge.From("knownItems", Renamed.Type).Ref("knownAs")}
}
