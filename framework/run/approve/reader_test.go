package approve

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// What a reader may not read of a row is left out of it, and the rest stays as it was.
func TestImageIsCutToWhatIsReadable(t *testing.T) {
	r := &catalog.Resource{
		Key: catalog.Field{Name: "id"}, Fields: []catalog.Field{{Name: "name"}, {Name: "key", WriteOnly: true}, {Name: "pin", Sensitive: true}},
		Edges: []catalog.Edge{{Name: "owner"}, {Name: "secretOwner", WriteOnly: true}},
	}
	for image, want := range map[string]string{
		``: ``, `{}`: `{}`, `{"name":1.50,"id":"1"}`: `{"name":1.50,"id":"1"}`, `{"id":"1", "owner":["2"]}`: `{"id":"1", "owner":["2"]}`,
		`{"id":"1","pay":7,"name":"a"}`: `{"id":"1","name":"a"}`, `{"key":"k","pin":"p","secretOwner":"x"}`: `{}`, `{"pay":{"a":[1,"}"]},"name":"ü\n"}`: `{"name":"ü\n"}`,
	} {
		out, less := readable(r, json.RawMessage(image))
		require.Equal(t, want, string(out), image)
		require.Equal(t, image != want, less, image)
	}
}
