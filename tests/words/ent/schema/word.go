// Package schema has an entity whose fields are called like words that the languages around it keep
// for themselves.
package schema

import (
	"strings"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/expose"
)

// Word has a field for each name, of four types in turn; most are of the two that take the least
// generated code.
type Word struct{ ent.Schema }

// names are words of JSON Schema, JavaScript, TypeScript, Go and SQL, and members of JavaScript's
// own objects.
var names = strings.Fields(`
type format properties required items default const enum examples title description minimum maximum pattern if then else
all_of any_of one_of additional_properties pattern_properties definitions dependent_schemas property_names contains prefix_items read_only write_only deprecated discriminator nullable example content_encoding
constructor prototype proto to_string has_own_property value_of length name this null true false undefined nan new delete typeof function arguments eval async await yield let var class extends super static get set map symbol promise
interface namespace declare abstract keyof readonly any unknown never object number boolean
func go chan range select struct package import defer fallthrough nil error len make append iota int64 context
table from where group order limit offset join union values primary key references index user column check desc in is like between exists case end row rows count sum avg min max distinct having
filter q sort page page_size cursor with fields model changes all some every none code message hint path details retry success result answer calls input args run sdk entities json self
`)

func (Word) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Something with a field for each word."}}
}

func (Word) Fields() []ent.Field {
	var out []ent.Field
	for i, name := range names {
		switch i % 8 {
		case 0:
			out = append(out, field.String(name).Optional())
		case 1:
			out = append(out, field.Int(name).Optional())
		case 2, 4, 6:
			out = append(out, field.Bool(name).Default(false))
		default:
			out = append(out, field.JSON(name, map[string]any{}).Optional())
		}
	}
	return out
}

func (Word) Edges() []ent.Edge {
	return []ent.Edge{edge.To("children", Word.Type).From("parent").Unique()}
}
