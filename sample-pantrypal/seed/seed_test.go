package seed

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEmbeddedDataIsValid(t *testing.T) {
	d, err := Load()
	require.NoError(t, err)
	require.Len(t, d.Products, 60)
	require.GreaterOrEqual(t, len(d.Recipes), 25)
	for i, p := range d.Products {
		require.Equal(t, i+1, p.N, "products are numbered from 1 without gaps")
	}
}

// The test photo shows these products; a haul has to be worth cooking from.
func TestPhotoProductsAreUsedByRecipes(t *testing.T) {
	d, err := Load()
	require.NoError(t, err)
	for _, n := range []int{3, 7, 12, 18, 25} {
		p := d.Products[n-1]
		uses := 0
		for _, r := range d.Recipes {
			for _, i := range r.Ingredients {
				if strings.EqualFold(i.Name, p.Name) {
					uses++
				}
			}
		}
		require.GreaterOrEqual(t, uses, 3, "%s is in too few recipes", p.Name)
	}
}

func TestGTIN(t *testing.T) {
	for n, want := range map[int]string{1: "2000000000015", 3: "2000000000039", 10: "2000000000107", 99: "2000000000992", 12345: "2000000123455"} {
		require.Equal(t, want, GTIN(n))
	}
	require.Equal(t, byte('1'), checkDigit("400638133393"), "a published example of an EAN-13")
	require.Panics(t, func() { GTIN(0) })
	require.Panics(t, func() { GTIN(100000) })
}

func TestDecodeIsStrict(t *testing.T) {
	cases := map[string]struct{ yaml, want string }{
		"unknown field":    {"- {n: 1, nmae: Milk}", "field nmae not found"},
		"wrong type":       {"- {n: one}", "cannot unmarshal"},
		"second document":  {"- {n: 1}\n---\n- {n: 2}", "more than one document"},
		"not a list":       {"n: 1", "cannot unmarshal"},
		"nothing":          {"", "EOF"},
		"broken yaml":      {"- {n: 1", "did not find"},
		"key stands twice": {"- {n: 1, n: 2}", "already defined"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out []Product
			require.ErrorContains(t, decode("products.yaml", []byte(c.yaml), &out), c.want)
		})
	}
}

func TestCheckReportsAllProblems(t *testing.T) {
	d, err := Load()
	require.NoError(t, err)
	d.Products[3].Category = "diary"
	d.Products[4].N = 3
	d.Recipes[0].Ingredients[0].Unit = "pound"
	d.Recipes[0].Ingredients[1].Name = "spinahc"
	d.Recipes[2].DietaryTags = append(d.Recipes[2].DietaryTags, "vegan")
	d.Household.Pantry[0].Name = "Penne"
	err = d.check()
	for _, want := range []string{`unknown category "diary"`, "product 3 occurs twice", `unknown unit "pound"`, "spinahc is neither a product", "eggs in a recipe that is vegan", "is vegan but not dairy-free", `product 18 is "Spaghetti"`} {
		require.ErrorContains(t, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("- {n: 1, name: Milk, allergens: [milk]}"))
	f.Add([]byte("- &a {n: 1}\n- *a"))
	f.Add([]byte("---\n...\n"))
	f.Add(productsYAML)
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := &Data{}
		if decode("fuzz", raw, &d.Products) == nil {
			_ = d.check() // must not panic, whatever the numbers are
		}
	})
}
