package quantity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read writes what ParseLine makes of a line: "amount-max unit [packages] | name |
// preparation | optional".
func read(l Line) string {
	var b strings.Builder
	if l.Amount.Valid {
		b.WriteString(l.Amount.Decimal.String())
	}
	if l.AmountMax.Valid {
		b.WriteString("-" + l.AmountMax.Decimal.String())
	}
	if l.Unit != "" {
		b.WriteString(" " + string(l.Unit))
	}
	if l.Package != "" {
		fmt.Fprintf(&b, " [%s %s]", l.Packages.Decimal, l.Package)
	}
	b.WriteString(" | " + l.Name)
	if l.Preparation != "" || l.Optional {
		b.WriteString(" | " + l.Preparation)
	}
	if l.Optional {
		b.WriteString(" | optional")
	}
	return strings.TrimSpace(b.String())
}

// lines are the ways in which people write ingredients, and what they mean.
var lines = map[string]string{
	// Numbers
	"1 1/2 cups flour, sifted":      "1.5 cup | flour | sifted",
	"½ tsp salt":                    "0.5 tsp | salt",
	"1½ cups sugar":                 "1.5 cup | sugar",
	"1 ½ cups sugar":                "1.5 cup | sugar",
	"1 and 1/2 cups sugar":          "1.5 cup | sugar",
	"1⁄3 cup rice":                  "0.333333 cup | rice",
	"1,5 kg potatoes":               "1.5 kg | potatoes",
	"1.5kg potatoes":                "1.5 kg | potatoes",
	"0,125 l milk":                  "0.125 l | milk",
	"1,500 g flour":                 "1500 g | flour",
	"1.000 g sugar":                 "| 1.000 g sugar | 1.000 may be 1 or 1000",
	"1.500 ml milk":                 "| 1.500 ml milk | 1.500 may be 1.5 or 1500",
	"1.200 eggs":                    "| 1.200 eggs | 1.200 may be 1.2 or 1200",
	"1,500 kg potatoes":             "| 1,500 kg potatoes | 1,500 may be 1.5 or 1500",
	"1.500 kg potatoes":             "1.5 kg | potatoes",
	"0.250 g saffron":               "0.25 g | saffron",
	"2.205 lb beef":                 "2.205 lb | beef",
	"1.2345 g salt":                 "1.2345 g | salt",
	"１２ eggs":                       "12 piece | eggs",
	"１．５ kg potatoes":               "1.5 kg | potatoes",
	"١٢ eggs":                       "12 piece | eggs",
	"۱/۲ cup milk":                  "0.5 cup | milk",
	"१½ cups sugar":                 "1.5 cup | sugar",
	"𝟏𝟐 eggs":                       "12 piece | eggs",
	"10/4 cups milk":                "2.5 cup | milk",
	"half a cucumber":               "0.5 piece | cucumber",
	"one and a half lemons":         "1.5 piece | lemons",
	"a dozen eggs":                  "12 piece | eggs",
	"Two large eggs":                "2 large | eggs",
	"an onion":                      "1 piece | onion",
	"a cup of milk":                 "1 cup | milk",
	"about 200 g feta":              "200 g | feta",
	"~3 tbsp oil":                   "3 tbsp | oil",
	"- 1 bunch basil":               "1 bunch | basil",
	"•  1\u00a0kg   apples":         "1 kg | apples",
	"5% cream":                      "| 5% cream",
	"1/0 cup sugar":                 "| 1/0 cup sugar",
	"123456789123 g salt":           "| 123456789123 g salt",
	"1.2.3 eggs":                    "| 1.2.3 eggs",
	"1e9 g sugar":                   "| 1e9 g sugar",
	"1.5E-3 kg sugar":               "| 1.5E-3 kg sugar",
	"1 egg":                         "1 piece | egg",
	"2e":                            "2 piece | e",
	"1.234,5 g sugar":               "| 1.234,5 g sugar",
	"1,234.5 g sugar, sifted":       "| 1,234.5 g sugar | sifted",
	"plain words":                   "| plain words",
	"7-Up":                          "| 7-Up",
	"1 cup plus 2 tbsp sugar":       "1.125 cup | sugar",
	"1 kg + 200 g flour":            "1.2 kg | flour",
	"2 eggs plus 1 yolk":            "2 piece | eggs plus 1 yolk",
	"1 cup (240 ml) milk":           "1 cup | milk | 240 ml",
	"1 pound (450 g) ground beef":   "1 lb | ground beef | 450 g",
	"100 g butter, at room temp.":   "100 g | butter | at room temp",
	"2 tbsp. olive oil":             "2 tbsp | olive oil",
	"2 T soy sauce":                 "2 tbsp | soy sauce",
	"2 t soy sauce":                 "2 tsp | soy sauce",
	"1 fl oz rum":                   "1 fl-oz | rum",
	"3 fluid ounces rum":            "3 fl-oz | rum",
	"2 heaped tablespoons of honey": "2 tbsp | honey",
	"2 dozen eggs":                  "24 piece | eggs",
	"1-1/2 cups milk":               "1.5 cup | milk",
	"2 lb. 3 oz. potatoes":          "2.1875 lb | potatoes",
	"1 c. sugar":                    "1 cup | sugar",
	"4 oz./115g feta":               "4 oz | feta | 115g",
	"500g/1lb 2oz beef mince":       "500 g | beef mince | 1lb 2oz",
	"200 ml/7 fl oz milk":           "200 ml | milk | 7 fl oz",
	"250 g/1 pack butter":           "250 g | /1 pack butter",
	"1 tsp each salt and pepper":    "1 tsp | each salt and pepper",
	// Ranges
	"2-3 large onions":       "2-3 large | onions",
	"2–3 carrots":            "2-3 piece | carrots",
	"2 to 3 tbsp oil":        "2-3 tbsp | oil",
	"1/2-1 tsp chilli":       "0.5-1 tsp | chilli",
	"1 or 2 chillies":        "1-2 piece | chillies",
	"3-2 carrots":            "| 3-2 carrots", // not a range
	"1-2 chillies, to taste": "1-2 piece | chillies | to taste",
	// Packages
	"2 cans (400 g) tomatoes":          "800 g [2 can] | tomatoes",
	"2 cans (400 g each) tomatoes":     "800 g [2 can] | tomatoes",
	"2 x 400 g cans chickpeas":         "800 g [2 can] | chickpeas",
	"2 × 400g tins of chickpeas":       "800 g [2 can] | chickpeas",
	"2 x 125 g mozzarella":             "250 g [2 piece] | mozzarella",
	"1 (14 oz) can coconut milk":       "14 oz [1 can] | coconut milk",
	"1 14-oz can coconut milk":         "14 oz [1 can] | coconut milk",
	"400g can chickpeas":               "400 g [1 can] | chickpeas",
	"a 400 g tin of tomatoes":          "400 g [1 can] | tomatoes",
	"500 g pack of spaghetti":          "500 g [1 pack] | spaghetti",
	"1-2 cans (400 g) beans":           "400-800 g [1 can] | beans",
	"1 packet (250 g) egg noodles":     "250 g [1 pack] | egg noodles",
	"one 400 g tin of tomatoes":        "400 g [1 can] | tomatoes",
	"1 large can tomatoes":             "1 can | tomatoes",
	"2 cans tomatoes, drained":         "2 can | tomatoes | drained",
	"4 chicken breasts (150 g each)":   "600 g [4 piece] | chicken breasts",
	"2 pieces (150 g each) of chicken": "300 g [2 piece] | chicken",
	// No amount
	"a pinch of salt":                 "| salt | a pinch",
	"2 pinches salt":                  "| salt | 2 pinches",
	"1 small handful of coriander":    "| coriander | 1 small handful",
	"a few basil leaves":              "| basil leaves | a few",
	"a good splash of vinegar":        "| vinegar | a good splash",
	"salt to taste":                   "| salt | to taste",
	"salt and pepper, to taste":       "| salt and pepper | to taste",
	"oil, as needed":                  "| oil | as needed",
	"olive oil for frying":            "| olive oil | for frying",
	"5 cm piece of ginger, grated":    "| ginger | 5 cm piece, grated",
	"1-inch piece ginger":             "| ginger | 1-inch piece",
	"a 2-inch piece of ginger":        "| ginger | a 2-inch piece",
	"3-4-inch cinnamon stick":         "| cinnamon stick | 3-4-inch",
	"parsley, chopped (optional)":     "| parsley | chopped | optional",
	"optional: chilli flakes":         "| chilli flakes |  | optional",
	"1 tbsp oil, plus more for brush": "1 tbsp | oil | plus more for brush",
	// Units and names
	"3 cloves":                         "3 piece | cloves",
	"3 cloves, ground":                 "3 piece | cloves | ground",
	"2 cloves garlic":                  "2 clove | garlic",
	"2 garlic cloves, crushed":         "2 clove | garlic | crushed",
	"2 large garlic cloves":            "2 clove | garlic",
	"1 whole clove garlic":             "1 clove | garlic",
	"1 whole chicken":                  "1 piece | whole chicken",
	"3 whole cloves":                   "3 piece | whole cloves",
	"2 large cloves of garlic":         "2 clove | garlic",
	"2 celery stalks":                  "2 stalk | celery",
	"6 mint leaves":                    "6 leaf | mint leaves",
	"4 salmon fillets":                 "4 fillet | salmon",
	"2 slices bread":                   "2 slice | bread",
	"8oz pasta":                        "8 oz | pasta",
	"1 cup half and half":              "1 cup | half and half",
	"juice of 1 lemon":                 "1 piece | lemon | juice of",
	"grated zest of half an orange":    "0.5 piece | orange | grated zest of",
	"tomatoes (ripe), chopped, peeled": "| tomatoes | ripe, chopped, peeled",
	"2 onions - finely chopped":        "2 piece | onions | finely chopped",
	"1 can":                            "1 piece | can",
}

func TestParseLine(t *testing.T) {
	for text, want := range lines {
		line, err := ParseLine(text, US)
		require.NoError(t, err, text)
		assert.Equal(t, want, read(line), text)
		require.Equal(t, text, line.Text)
	}
}

func TestParseLineRefuses(t *testing.T) {
	for text, want := range map[string]error{
		"": ErrEmptyLine, "  \t ": ErrEmptyLine, "200 g": ErrEmptyLine, "(optional)": ErrEmptyLine, "1/2": ErrEmptyLine, ",": ErrEmptyLine,
		strings.Repeat("flour ", 100): ErrLongLine,
	} {
		line, err := ParseLine(text, Metric)
		require.ErrorIs(t, err, want, "%q", text)
		require.Equal(t, Line{Text: text}, line)
	}
}

func TestSystemDecidesOnlyWhatIsAdded(t *testing.T) {
	us, err := ParseLine("1 cup plus 1 tbsp sugar", US)
	require.NoError(t, err)
	metric, err := ParseLine("1 cup plus 1 tbsp sugar", Metric)
	require.NoError(t, err)
	require.Equal(t, "1.0625", us.Amount.Decimal.String())
	require.Equal(t, "1.06", metric.Amount.Decimal.String())
}
