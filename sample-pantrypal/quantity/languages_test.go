package quantity

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Units of German and French recipes are what they are there, and never the English ones that begin so.
func TestLinesOfOtherLanguages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"3 c. à soupe d'huile d'olive": "3 tbsp|huile d'olive", "1 c. à café de sel": "1 tsp|sel", "2 cuillères à soupe de farine": "2 tbsp|farine", "1 c.à.s. de moutarde": "1 tbsp|moutarde", "½ c à c de cumin": "½ tsp|cumin",
		"2 cuil. à café de miel": "2 tsp|miel", "1 cuillerée à soupe de crème": "1 tbsp|crème", "2 gousses d'ail": "2 cloves|ail", "1 pincée de sel": "|sel", "3 tranches de jambon": "3 slices|jambon", "200 g de beurre": "200 g|beurre",
		"1 sachet de levure": "1 pack|levure", "1 botte de persil": "1 bunch|persil", "25 cl de lait": "25 cl|lait", "une boîte de tomates": "1 can|tomates",
		"2 EL Olivenöl": "2 tbsp|Olivenöl", "1 TL Salz": "1 tsp|Salz", "1 Prise Zucker": "|Zucker", "1 Bund Petersilie": "1 bunch|Petersilie", "2 Zehen Knoblauch": "2 cloves|Knoblauch", "1 Dose Tomaten": "1 can|Tomaten",
		"1,5 l Wasser": "1.5 l|Wasser", "250 g Mehl": "250 g|Mehl", "4 Scheiben Brot": "4 slices|Brot", "1 Pck. Vanillezucker": "1 pack|Vanillezucker", "etwas Pfeffer": "|Pfeffer", "2 Stangen Lauch": "2 stalks|Lauch", "ein Glas Gurken": "1 jar|Gurken",
		"2 Esslöffel Honig": "2 tbsp|Honig", "1 Becher Sahne": "1 pack|Sahne", "zwei Eier": "2|Eier", "3 c. sugar": "3 cups|sugar", "2 c flour": "2 cups|flour",
	} {
		l, err := ParseLine(text, Metric)
		require.NoError(t, err, text)
		amount := ""
		if l.Amount.Valid {
			amount = Of(l.Amount.Decimal, l.Unit).String()
		}
		assert.Equal(t, want, amount+"|"+l.Name, text)
	}
}
