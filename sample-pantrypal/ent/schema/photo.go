package schema

import (
	"regexp"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/koan-go/koan/entities/expose"
)

const sha256Pattern = `^[0-9a-f]{64}$`

// PantryPhoto is a photo that was read for barcodes. The picture itself is a file.
type PantryPhoto struct{ ent.Schema }

func (PantryPhoto) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (PantryPhoto) Fields() []ent.Field {
	return []ent.Field{
		field.String("file_id").Optional().Nillable().
			Comment("Id of the file, where the photo was uploaded."),
		field.String("file_name").NotEmpty().MaxLen(255).
			Annotations(expose.Field{Example: "haul.png", Searchable: expose.Yes(), MaxLength: expose.Length(255)}),
		field.String("sha256").Unique().Match(regexp.MustCompile(sha256Pattern)).
			Comment("Digest of the file, by which a photo is known again.").
			Annotations(expose.Field{Pattern: sha256Pattern}),
		field.Int("width").NonNegative().Comment("Pixels.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Int("height").NonNegative().Comment("Pixels.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Enum("status").Values("processing", "processed", "no_codes", "failed").Default("processing"),
		field.Int("processing_ms").Optional().Nillable().NonNegative().
			Comment("How long the reading took, in milliseconds.").
			Annotations(expose.Field{Min: expose.Number(0)}),
		field.Time("added_at").Default(time.Now).Immutable(),
	}
}

func (PantryPhoto) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("detections", Detection.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), expose.Edge{Description: "What was seen on it."}),
	}
}

func (PantryPhoto) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "A photo that was read for barcodes. Read it with its detections.",
	}}
}

// Box is where on a photo something was seen, in pixels from the top left.
type Box struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Detection is one thing that was seen on a photo.
type Detection struct{ ent.Schema }

func (Detection) Mixin() []ent.Mixin { return []ent.Mixin{household{}} }

func (Detection) Fields() []ent.Field {
	return []ent.Field{
		field.JSON("box", Box{}).Optional().
			Comment("Where on the photo: {x, y, width, height} in pixels from the top left."),
		field.String("kind").NotEmpty().MaxLen(40).
			Comment("What kind of code, as the reader names it.").
			Annotations(expose.Field{Example: "ean13", MaxLength: expose.Length(40)}),
		field.String("value").NotEmpty().MaxLen(maxCode).
			Comment("What the code says."),
		field.Strings("candidates").Optional().
			Comment("Ids of the products that it may be, best first."),
		field.Float("confidence").Range(0, 1).
			Comment("0 to 1: the share of the readings that agree.").
			Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(1)}),
		field.Enum("status").Values("matched", "open", "asked", "resolved", "dismissed").Default("open").
			Comment("open: no product has this code, and nobody has said yet what it is (learn-product does). asked: another photo shows it, and nobody has said yet whether it is the same package (haul takes the answer). resolved: somebody has."),
		field.String("product_id").Optional().Nillable(),
		field.String("photo_id").Immutable(),
		field.String("pantry_item_id").Optional().Nillable(),
	}
}

func (Detection) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("photo", PantryPhoto.Type).Ref("detections").Unique().Required().Immutable().Field("photo_id"),
		edge.To("pantry_item", PantryItem.Type).Unique().Field("pantry_item_id").
			Annotations(expose.Edge{Description: "What became of it in the pantry."}),
		edge.To("product", Product.Type).Unique().Field("product_id"),
	}
}

func (Detection) Indexes() []ent.Index {
	return []ent.Index{index.Fields("photo_id"), index.Fields("pantry_item_id"), index.Fields("value"), index.Fields("status"), index.Fields("product_id")}
}

func (Detection) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		Description: "One code that was seen on a photo, and what became of it. An unknown one stays open until learn-product says what it is.",
		Aliases:     []string{"unknown code", "barcode"},
	}}
}
