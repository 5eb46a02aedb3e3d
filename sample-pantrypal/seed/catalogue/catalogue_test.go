package catalogue

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

func load(t testing.TB) *Catalogue {
	c, err := Load()
	require.NoError(t, err)
	return c
}

func TestCatalogueIsLargeEnough(t *testing.T) {
	c := load(t)
	portions, ingredients := 0, 0
	for _, f := range c.Foods {
		portions += len(f.Portions)
	}
	for _, r := range c.Recipes {
		ingredients += len(r.Ingredients)
		require.Len(t, r.Ingredients, len(r.Lines), r.Name)
	}
	require.GreaterOrEqual(t, len(c.Foods), 250)
	require.GreaterOrEqual(t, portions, 500)
	require.GreaterOrEqual(t, len(c.Products), 200)
	require.GreaterOrEqual(t, len(c.Recipes), 80)
	require.GreaterOrEqual(t, ingredients, 650)
	require.GreaterOrEqual(t, len(c.Stores), 4)
	lengths := map[int]int{}
	for _, p := range c.Products {
		lengths[len(p.Code)]++
	}
	require.Len(t, lengths, 3, "EAN-13, EAN-8 and UPC-A: %v", lengths)
	sets := []string{}
	for _, h := range c.Households {
		sets = append(sets, h.Set)
		require.NotEmpty(t, h.Lots, h.Set)
	}
	require.Equal(t, []string{"default", "lake-house"}, sets)
}

// Energy by other factors than 4, 9, 4 and 7 kcal/g for protein, fat, carbohydrate
// and alcohol.
var otherEnergy = map[string]string{
	"Lime juice":    "citric acid",
	"White vinegar": "acetic acid", "Red wine vinegar": "acetic acid", "Cider vinegar": "acetic acid", "Balsamic vinegar": "acetic acid",
	"Baking powder": "salts that count as carbohydrate", "Cocoa powder": "factors of its own for cocoa",
}

// Energy is within 15 percent of what the nutrients give, with or without the fibre
// counted, or within 8 kcal.
func TestEnergyFollowsFromNutrients(t *testing.T) {
	used := 0
	for _, f := range load(t).Foods {
		if f.NDB == "" {
			require.Equal(t, Nutrition{}, f.Nutrition, f.Name)
			continue
		}
		n := f.Nutrition
		least := 4*n.Protein.InexactFloat64() + 9*n.Fat.InexactFloat64() + 4*n.Carbohydrate.Sub(n.Fibre).InexactFloat64() + 7*n.Alcohol.InexactFloat64()
		most := least + 4*n.Fibre.InexactFloat64()
		kcal := n.EnergyKcal.InexactFloat64()
		plausible := kcal >= min(0.85*least, least-8) && kcal <= max(1.15*most, most+8)
		if _, other := otherEnergy[f.Name]; other {
			used++
			assert.False(t, plausible, "%s needs no exception", f.Name)
			continue
		}
		assert.True(t, plausible, "%s has %v kcal; its nutrients give %.0f to %.0f", f.Name, kcal, least, most)
	}
	require.Equal(t, len(otherEnergy), used)
}

// Spoons and cups weigh what the density says, within 12 percent.
func TestMeasuresAgreeWithDensity(t *testing.T) {
	for _, f := range load(t).Foods {
		if f.Density.IsZero() {
			continue
		}
		for _, p := range f.Portions {
			if p.Unit.Dimension() != quantity.Volume {
				continue
			}
			dense, err := quantity.Food{Density: f.Density}.Convert(quantity.Of(decimal.NewFromInt(1), p.Unit), quantity.Gram, quantity.US)
			require.NoError(t, err)
			r := p.Grams.Div(dense.Value).InexactFloat64()
			assert.True(t, r > 0.88 && r < 1.12, "%s: a %s weighs %s g, and %s g by the density", f.Name, p.Unit, p.Grams, dense.Value)
		}
	}
}

// texts as people, labels and receipts write them; "" is none, where a guess would
// be wrong.
var texts = map[string]string{
	"Feta": "Feta", "feta": "Feta", "FETA CHEESE": "Feta", "large onion": "Onions", "onion": "Onions", "Yellow Onions, diced": "Onions",
	"all-purpose flour": "Flour", "strong white flour": "Bread flour", "extra-virgin olive oil": "Olive oil", "extra virgin olive oil": "Olive oil",
	"freshly ground black pepper": "Black pepper", "scallions": "Spring onions", "cilantro": "Coriander", "ground coriander": "Coriander seeds",
	"courgette": "Zucchini", "eggplant": "Aubergine", "garbanzo beans": "Chickpeas", "confectioners' sugar": "Icing sugar", "creme fraiche": "Crème fraîche",
	"tomatoes": "Tomatoes", "crushed tomatoes": "Canned tomatoes", "sun-dried tomatoes": "Sun-dried tomatoes", "cherry tomatoes": "Cherry tomatoes",
	"red bell pepper": "Bell peppers", "pepper": "Black pepper", "ground pepper": "Black pepper", "pepper, to taste": "Black pepper", "1 tsp pepper": "Black pepper",
	"peppers": "Bell peppers", "2 peppers, sliced": "Bell peppers", "1 pepper": "Bell peppers", "2 large fresh peppers": "Bell peppers", "2 green peppers": "Green peppers", "green chillies": "Chillies", "jalapeno pepper": "Jalapeños", "gruyere": "Gruyère",
	"whole milk": "Milk", "skim milk": "Skimmed milk", "coconut milk": "Coconut milk", "coconut": "Coconut", "buttermilk": "Buttermilk",
	"ground beef": "Minced beef", "beef mince": "Minced beef", "beef": "Beef", "chicken": "Chicken", "chicken breast": "Chicken breast", "boneless skinless chicken thighs": "Chicken thighs",
	"minced veal": "Minced veal", "lamb": "Lamb", "fish": "", "shrimp": "Prawns", "raw king prawns": "Prawns", "salmon fillets": "Salmon fillet", "smoked salmon": "Smoked salmon",
	"smoked trout": "Smoked trout", "cloves": "Cloves", "garlic clove": "Garlic", "garlic powder": "Garlic powder", "onion powder": "Onion powder", "ginger powder": "Ground ginger",
	"bay leaf": "Bay leaves", "basil leaves": "Basil", "lime leaves": "Lime leaves", "curry leaves": "Curry leaves", "mint leaves": "Mint", "mint sauce": "Mint sauce", "dried basil": "Dried basil",
	"peanut butter": "Peanut butter", "almond butter": "Almond butter", "butter": "Butter", "butter beans": "Butter beans", "green beans": "Green beans", "beans": "",
	"milk chocolate": "Milk chocolate", "white chocolate": "White chocolate", "dark chocolate": "Dark chocolate", "chocolate": "", "sugar snap peas": "Mangetout", "snow peas": "Mangetout",
	"peas": "Peas", "split peas": "Split peas", "sweet potato": "Sweet potatoes", "potato starch": "Potato starch", "potatoes": "Potatoes", "salt and pepper": "",
	"cream": "Cream", "cream cheese": "Cream cheese", "sour cream": "Sour cream", "ice cream": "Vanilla ice cream", "cream of tartar": "Cream of tartar", "coconut cream": "Coconut cream",
	"rice": "Rice", "rice vinegar": "Rice vinegar", "rice noodles": "Rice noodles", "wild rice": "Wild rice", "brown rice": "Brown rice", "egg": "Eggs", "egg whites": "Egg whites",
	"egg noodles": "Egg noodles", "noodles": "", "hummus": "Hummus", "houmous": "Hummus", "tomato puree": "", "tomato paste": "Tomato paste", "pine nuts": "Pine nuts",
	"nuts": "", "mustard": "Mustard", "mustard seeds": "Mustard seeds", "celery": "Celery", "celery salt": "Celery salt", "celery stalk": "Celery", "celeriac": "Celeriac",
	"lemon": "Lemons", "lemon juice": "Lemon juice", "lemon curd": "Lemon curd", "lemongrass": "Lemongrass", "orange": "Oranges", "orange juice": "Orange juice",
	"water chestnuts": "Water chestnuts", "hot water": "Water", "rose water": "Rose water", "red wine": "Red wine", "red wine vinegar": "Red wine vinegar", "wine": "", "ginger ale": "Ginger ale",
	"bone-in chicken thighs": "Chicken thighs", "skin-on salmon fillets": "Salmon fillet", "tomatoes in juice": "", "fine sea salt": "Salt",
	"stem ginger": "", "ginger beer": "Ginger beer", "corn syrup": "Corn syrup", "corn": "", "cornstarch": "Cornflour", "corn flour": "", "chilli": "Chillies", "chili powder": "Chilli powder",
	"vegetable stock cube": "Stock cubes", "vegetable broth": "Vegetable stock", "baking soda": "Bicarbonate of soda", "yeast extract": "Yeast extract", "bread": "Bread",
	"breadcrumbs": "Breadcrumbs", "bread flour": "Bread flour", "gingerbread": "", "apple": "Apples", "apple sauce": "Apple sauce", "pineapple": "Pineapple",
	"passion fruit": "Passion fruit", "grape": "Grapes", "grape leaves": "", "grapefruit": "Grapefruit", "raisins": "Raisins", "prosciutto": "Prosciutto", "ham": "Cooked ham", "hamburger": "",
	"dish soap": "Dish soap", "": "", "2": "", "chopped": "",
}

func TestTextsJoinToFoods(t *testing.T) {
	index := load(t).Index()
	for text, want := range texts {
		line := quantity.Line{Name: text}
		if parsed, err := quantity.ParseLine(text, quantity.Metric); err == nil {
			line = parsed
		}
		assert.Equal(t, want, index.FindLine(line).ID, "%q", text)
	}
}

// What a household buys in a year has a food, or is a thing of the house.
func TestEverydayNamesHaveFoods(t *testing.T) {
	raw, err := os.ReadFile("testdata/everyday.txt")
	require.NoError(t, err)
	names := strings.Split(strings.TrimSpace(string(raw)), "\n")
	require.Greater(t, len(names), 650)
	index := load(t).Index()
	for _, name := range names {
		assert.NotEmpty(t, index.Find(name).ID, name)
	}
}

func TestEveryNameFindsItsFood(t *testing.T) {
	c := load(t)
	for _, f := range c.Foods {
		for _, name := range append([]string{f.Name, strings.ToUpper(f.Name), "fresh " + f.Name}, f.Aliases...) {
			assert.Equal(t, f.Name, c.Index().Find(name).ID, name)
		}
	}
}

func TestRecipesComputeWhatFollowsFromTheirFoods(t *testing.T) {
	c := load(t)
	at := func(name string) Recipe {
		return c.Recipes[slices.IndexFunc(c.Recipes, func(r Recipe) bool { return r.Name == name })]
	}
	require.Equal(t, []string{"vegan", "vegetarian", "pescatarian"}, at("Red Lentil Dal").Diets)
	require.Equal(t, []string{"pescatarian"}, at("Baked Salmon with Potatoes and Broccoli").Diets)
	require.Empty(t, at("Goulash").Diets)
	require.Equal(t, []string{"eggs", "gluten", "milk"}, at("Pancakes").Allergens)
	require.Contains(t, at("Prawn Pad Thai").Allergens, "peanuts", "an optional ingredient counts for allergens")
	for _, r := range c.Recipes {
		kcal := r.PerServing.EnergyKcal.InexactFloat64()
		assert.True(t, kcal > 100 && kcal < 1200, "%s has %.0f kcal a serving", r.Name, kcal)
	}
}

// A household must be able to cook something on each kind of day.
func TestHouseholdsHaveRecipes(t *testing.T) {
	c := load(t)
	for _, h := range c.Households {
		dinners := 0
		for _, r := range c.Recipes {
			fits := slices.Contains(r.Meals, "dinner") && r.PrepMinutes+r.CookMinutes <= h.Weekdays
			for _, m := range h.Members {
				fits = fits && (m.Diet == "" || slices.Contains(r.Diets, m.Diet))
				fits = fits && !slices.ContainsFunc(m.Allergies, func(a string) bool { return slices.Contains(r.Allergens, a) })
			}
			if fits {
				dinners++
			}
		}
		assert.GreaterOrEqual(t, dinners, 7, "%s", h.Set)
	}
}

// broken returns the embedded files with one text replaced in one of them.
func broken(t testing.TB, file, before, after string) fstest.MapFS {
	out := fstest.MapFS{}
	names, err := files.ReadDir(".")
	require.NoError(t, err)
	for _, n := range names {
		raw, err := files.ReadFile(n.Name())
		require.NoError(t, err)
		if n.Name() == file {
			require.Contains(t, string(raw), before)
			raw = []byte(strings.Replace(string(raw), before, after, 1))
		}
		out[n.Name()] = &fstest.MapFile{Data: raw}
	}
	return out
}

func TestMistakesAreFound(t *testing.T) {
	for _, m := range []struct{ file, before, after, want string }{
		{"foods.csv", "name,aliases,aisle", "name,alias,aisle", "foods.csv: the columns are"},
		{"foods.csv", "beefsteak tomatoes,produce", "beefsteak tomatoes,produse", `foods.csv: Tomatoes: unknown aisle "produse"`},
		{"foods.csv", "dairy,milk,vegetarian,1.03,61", "dairy,milch,vegetarian,1.03,61", `foods.csv: Milk: unknown allergen "milch"`},
		{"foods.csv", "dairy,milk,vegetarian,1.03,61", "dairy,milk,vegan,1.03,61", "foods.csv: Milk: vegan, and contains milk"},
		{"foods.csv", "vegan,,18,0.88", "vegan,,18x,0.88", `kcal "18x" is not a number`},
		{"foods.csv", "vegan,,18,0.88", "vegan,,18,98.8", "foods.csv: Tomatoes: the nutrients of 100 g weigh 102.89 g"},
		{"foods.csv", "5,8,240,,11529", "5.5,8,240,,11529", `pantry "5.5" is not a number of days`},
		{"foods.csv", "5,8,240,,11529", ",,,,11529", "foods.csv: Tomatoes keeps nowhere"},
		{"foods.csv", "yellow onions;", "tomato;", `"tomato" of Onions is a name of Tomatoes`},
		{"foods.csv", "Cherry tomatoes,grape", "Tomatoes,grape", "Tomatoes occurs twice"},
		{"portions.csv", "Tomatoes,small,91", "Tomatos,small,91", `food "Tomatos" is not in foods.csv`},
		{"portions.csv", "Tomatoes,small,91", "Tomatoes,tiny,91", `unit "tiny" is not a unit`},
		{"portions.csv", "Tomatoes,small,91", "Tomatoes,large,91", "portions.csv: Tomatoes has two portions by the large"},
		{"portions.csv", "Tomatoes,small,91", "Tomatoes,small,0", "portions.csv: Tomatoes: a small weighs nothing"},
		{"portions.csv", "Tomatoes,small,91,usda", "Tomatoes,small,91,rumour", `source "rumour" is neither`},
		{"products.csv", "2000000000015", "2000000000016", "products.csv: 2000000000016 is not an EAN-13"},
		{"products.csv", "2000000000015", "4006381333931", "products.csv: 4006381333931 is not an EAN-13"},
		{"products.csv", "2000000000022,", "2000000000015,", "products.csv: 2000000000015 occurs twice"},
		{"products.csv", ",Milk,Whole milk,", ",Mylk,Whole milk,", "Mylk is not in foods.csv"},
		{"products.csv", "1000,ml,1.29", "1000,ml,", "has no contents or no price"},
		{"products.csv", "1000,ml,1.29", "1,l,1.29", "is sold by the l"},
		{"recipes.yaml", "- 250 g spinach", "- 250 g spinache", `"250 g spinache" joins to no food; candidates are ["Spinach"`},
		{"recipes.yaml", "- 250 g spinach", "- 1 bar spinach", "Spinach: cannot convert bar to g without the weight of one bar"},
		{"recipes.yaml", "- 250 g spinach", "- spinach", "has no amount, and is not a staple"},
		{"recipes.yaml", "cuisine: indian", "kitchen: indian", "field kitchen not found"},
		{"recipes.yaml", "servings: 4", "servings: 0", "has servings or minutes that cannot be"},
		{"stores.yaml", "level: 1", "level: 0", `"Fairlane Market" needs a name and a level`},
		{"households.yaml", "Europe/Berlin", "Europe/Bielefeld", `"Europe/Bielefeld" is not a time zone`},
		{"households.yaml", "allergies: [peanuts]", "allergies: [mondays]", `unknown allergy "mondays"`},
		{"households.yaml", "food: Feta", "food: Fetta", "households.yaml: default: Fetta is not in foods.csv"},
		{"households.yaml", "product: \"2000000000091\"", "product: \"2000000000015\"", "2000000000015 is not a product of it"},
		{"households.yaml", "place: fridge", "place: cellar", `unknown place "cellar"`},
		{"households.yaml", "days: [friday]", "days: [freitag]", `unknown day "freitag"`},
	} {
		_, err := read(broken(t, m.file, m.before, m.after))
		assert.ErrorContains(t, err, m.want)
	}
}

func TestAllMistakesAreNamedAtOnce(t *testing.T) {
	from := broken(t, "foods.csv", "vegan,,18,0.88", "vegan,,18x,0.88x")
	from["products.csv"] = &fstest.MapFile{Data: []byte("code,food\n")}
	delete(from, "stores.yaml")
	_, err := read(from)
	for _, want := range []string{`kcal "18x"`, `protein "0.88x"`, "products.csv: the columns are", "stores.yaml"} {
		assert.ErrorContains(t, err, want)
	}
}

func FuzzFoods(f *testing.F) {
	raw, err := files.ReadFile("foods.csv")
	require.NoError(f, err)
	head, rest, _ := strings.Cut(string(raw), "\nCherry")
	f.Add(head)
	f.Add("Cherry" + rest[:2000])
	f.Fuzz(func(t *testing.T, text string) {
		var foods []Food
		err := readTable("foods.csv", []byte(text), foodColumns, func(r *record) { foods = append(foods, r.food()) })
		for _, food := range foods {
			require.False(t, food.Nutrition.EnergyKcal.IsNegative())
			require.True(t, err != nil || food.Name != "" && food.NDB != "")
		}
	})
}

func FuzzInStore(f *testing.F) {
	for _, code := range []string{"2000000000015", "20037004", "200000000001", "", "٢٠٠٠٠٠٠٠"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if !inStore(code) {
			return
		}
		for i := range len(code) {
			wrong := []byte(code)
			wrong[i] = '0' + (wrong[i]-'0'+1)%10
			require.False(t, inStore(string(wrong)), "a digit off is found: %s", wrong)
		}
	})
}
