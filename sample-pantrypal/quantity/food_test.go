package quantity

import (
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func amount(value string, unit Unit) Amount { return Of(number(value), unit) }

var (
	flour  = Food{Name: "Flour", Density: number("0.53")}
	onion  = Food{Name: "Onions", Portions: []Portion{{"small", number("70")}, {"medium", number("110")}, {"large", number("150")}, {"cup", number("160")}, {"tbsp", number("9")}}}
	garlic = Food{Name: "Garlic", Portions: []Portion{{"clove", number("3")}, {Piece, number("40")}}}
	basil  = Food{Name: "Basil"}
	salt   = Food{Name: "Salt", Density: number("1.22"), Staple: true}
	milk   = Food{Name: "Milk", Density: number("1.03")}
)

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		food   Food
		from   Amount
		to     Unit
		system System
		want   string // the value, or what is missing
	}{
		{flour, amount("1.5", "kg"), Gram, Metric, "1500"},
		{flour, amount("1", "lb"), Gram, Metric, "453.59237"},
		{flour, amount("8", "oz"), "lb", Metric, "0.5"},
		{flour, amount("1", "cup"), Millilitre, Metric, "250"},
		{flour, amount("1", "cup"), Millilitre, US, "236.588237"},
		{flour, amount("1", "cup"), "tbsp", US, "16"},
		{flour, amount("1", "cup"), "tbsp", Metric, "16.666667"},
		{flour, amount("1", "cup"), Gram, Metric, "132.5"},
		{flour, amount("132.5", Gram), "cup", Metric, "1"},
		{flour, amount("1", Piece), Gram, Metric, "the weight of one piece"},
		{onion, amount("2", "large"), Piece, Metric, "2"},
		{onion, amount("2", "large"), Gram, Metric, "300"},
		{onion, amount("2", Piece), Gram, Metric, "220"},
		{onion, amount("1", "cup"), Gram, US, "160"},
		{onion, amount("1", "tbsp"), Gram, US, "9"},
		{onion, amount("1", "bunch"), Gram, US, "the weight of one bunch"},
		{garlic, amount("10", "clove"), Piece, US, "0.75"},
		{garlic, amount("1", "large"), Gram, US, "40"},
		{garlic, amount("1", "tsp"), Gram, US, "a density"},
		{basil, amount("1", "bunch"), "bunch", US, "1"},
		{basil, amount("1", "furlong"), Gram, US, "a unit that is known"},
	} {
		got, err := c.food.Convert(c.from, c.to, c.system)
		if err == nil {
			assert.Equal(t, amount(c.want, c.to).String(), got.String(), "%s of %s", c.from, c.food.Name)
			assert.Equal(t, c.want, got.Value.String(), "%s of %s", c.from, c.food.Name)
			continue
		}
		var u *Unconvertible
		require.ErrorAs(t, err, &u)
		assert.Equal(t, Unconvertible{c.food.Name, c.from.Unit, c.to, c.want}, *u)
	}
}

func TestSum(t *testing.T) {
	for _, c := range []struct {
		food    Food
		amounts []Amount
		want    []Amount
		apart   int
	}{
		{milk, []Amount{amount("1", "l"), amount("250", "ml"), amount("1", "cup")}, []Amount{amount("1500", Millilitre)}, 0},
		{milk, []Amount{amount("1", "l"), amount("100", "g")}, []Amount{amount("1130", Gram)}, 0},
		{onion, []Amount{amount("2", Piece), amount("1", "large")}, []Amount{amount("3", Piece)}, 0},
		{onion, []Amount{amount("1", "large"), amount("100", "g")}, []Amount{amount("250", Gram)}, 0},
		{garlic, []Amount{amount("3", "clove"), amount("1", Piece)}, []Amount{amount("49", Gram)}, 0},
		{basil, []Amount{amount("1", "bunch"), amount("0.5", "bunch")}, []Amount{amount("1.5", "bunch")}, 0},
		{basil, []Amount{amount("1", "bunch"), amount("10", "g"), amount("0.02", "kg")}, []Amount{amount("30", Gram), amount("1", "bunch")}, 1},
		{salt, []Amount{amount("1", "kg"), amount("1", "tsp")}, nil, 0},
		{milk, nil, []Amount{}, 0},
	} {
		got, apart := c.food.Sum(Metric, c.amounts...)
		assert.Equal(t, c.want, got, c.food.Name)
		assert.Len(t, apart, c.apart, c.food.Name)
	}
}

func TestCompare(t *testing.T) {
	b := onion.Compare(Metric, []Amount{amount("500", "g"), amount("1", "large")}, []Amount{amount("0.4", "kg")})
	assert.Equal(t, Balance{Missing: []Amount{amount("250", Gram)}}, b)

	b = milk.Compare(US, []Amount{amount("200", "ml")}, []Amount{amount("1", "l")})
	assert.Equal(t, Balance{Left: []Amount{amount("800", Millilitre)}}, b)

	b = basil.Compare(Metric, []Amount{amount("1", "bunch")}, []Amount{amount("20", "g")})
	assert.Equal(t, []Amount{amount("1", "bunch")}, b.Unknown, "a bunch of unknown weight is not compared with grams")
	assert.Equal(t, []Amount{amount("20", Gram)}, b.Left)
	assert.Empty(t, b.Missing)
	require.Len(t, b.Apart, 1)
	assert.EqualError(t, b.Apart[0], "Basil: cannot convert bunch to g without the weight of one bunch")

	b = basil.Compare(Metric, []Amount{amount("1", "bunch")}, nil)
	assert.Equal(t, Balance{Missing: []Amount{amount("1", "bunch")}}, b)

	assert.Equal(t, Balance{Absent: true}, salt.Compare(Metric, []Amount{amount("1", "tsp")}, nil))
	assert.Equal(t, Balance{}, salt.Compare(Metric, []Amount{amount("10", "kg")}, []Amount{amount("1", "g")}))
	assert.Equal(t, Balance{}, salt.Compare(Metric, nil, nil))
}

func TestPackages(t *testing.T) {
	for _, c := range []struct {
		food       Food
		need, pack Amount
		count      int64
		left       string
	}{
		{flour, amount("700", "g"), amount("1", "kg"), 1, "0.3 kg"},
		{flour, amount("1000.0004", "g"), amount("1", "kg"), 1, "0 kg"},
		{flour, amount("1001", "g"), amount("1", "kg"), 2, "0.999 kg"},
		{onion, amount("3", "large"), amount("1000", "g"), 1, "550 g"},
		{milk, amount("6", "cup"), amount("1", "l"), 2, "0.5 l"},
		{milk, amount("0", "ml"), amount("1", "l"), 0, "0 l"},
	} {
		count, left, err := c.food.Packages(c.need, c.pack, Metric)
		require.NoError(t, err)
		assert.Equal(t, c.count, count, "%s in %s", c.need, c.pack)
		assert.Equal(t, c.left, left.String())
	}
	_, _, err := basil.Packages(amount("1", "bunch"), amount("20", "g"), Metric)
	assert.ErrorContains(t, err, "the weight of one bunch")
	_, _, err = flour.Packages(amount("1", "g"), amount("0", "g"), Metric)
	assert.ErrorContains(t, err, "a package that holds something")
}

func TestThirdsAddUp(t *testing.T) {
	third, err := ParseLine("1/3 cup milk", Metric)
	require.NoError(t, err)
	a := Of(third.Amount.Decimal, third.Unit)
	assert.Equal(t, "1 cup", a.Scale(decimal.NewFromInt(3)).String())
	sums, _ := milk.Sum(Metric, a, a, a)
	assert.Equal(t, "250 ml", sums[0].String())
}

func TestAmountReadsLikeACookbook(t *testing.T) {
	for want, a := range map[string]Amount{
		"1.5 kg": amount("1500", Gram), "999 g": amount("999", Gram), "1.25 l": amount("1250", Millilitre), "½ tsp": amount("0.5", "tsp"),
		"1⅓ cups": amount("1.333333", "cup"), "1 cup": amount("1", "cup"), "2½": amount("2.5", Piece), "2 cloves": amount("2", "clove"), "1 clove": amount("1", "clove"),
		"2 leaves": amount("2", "leaf"), "3 bunches": amount("3", "bunch"), "2 large": amount("2", "large"), "1.5 fl oz": amount("1.5", "fl-oz"),
		"0.0001 g": amount("0.0001", Gram), "0 g": amount("0", Gram), "0.333 l": amount("0.333333", "l"),
	} {
		assert.Equal(t, want, a.String())
	}
}

func TestAmountReadsWithItsFood(t *testing.T) {
	for want, got := range map[string]string{
		"1 egg": amount("1", Piece).With("eggs"), "2 eggs": amount("2", Piece).With("eggs"), "½ spring onion": amount("0.5", Piece).With("spring onions"),
		"3 cloves garlic": amount("3", "clove").With("garlic"), "1 large potato": amount("1", "large").With("potatoes"), "500 g tomatoes": amount("500", Gram).With("tomatoes"),
		"1 bunch radishes": amount("1", "bunch").With("radishes"), "Milk": amount("0", Millilitre).With("Milk"), "Salt": Amount{}.With("Salt"),
	} {
		assert.Equal(t, want, got)
	}
}

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]string{"1": "1", "1.5": "1.5", "0.000001": "0.000001", "999999999": "999999999"} {
		n, err := ParseNumber(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, n.String())
	}
	for _, text := range []string{"", "-1", "+1", "1e3", "1e999999999", "1.", ".5", "1,5", "1/2", "1.0000001", "1000000000", "٣", " 1", "NaN"} {
		_, err := ParseNumber(text)
		require.ErrorIs(t, err, ErrNumber, "%q", text)
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]Unit{
		"g": "g", "Grams": "g", "KG": "kg", "tbsp.": "tbsp", "Tablespoons": "tbsp", "T": "tbsp", "t": "tsp", "fl oz": "fl-oz", "tins": "can", "bunches": "bunch", "leaves": "leaf", " ml ": "ml",
	} {
		got, ok := ParseUnit(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "furlong", "tb sp", "gg", "."} {
		_, ok := ParseUnit(text)
		assert.False(t, ok, text)
	}
	for _, u := range Units() {
		parsed, ok := ParseUnit(string(u))
		assert.True(t, ok && parsed == u && u.Known() && u.Dimension() != "", "%s", u)
	}
	assert.False(t, Unit("tablespoon").Known(), "a unit has one name")
}

func TestSystemOfLocale(t *testing.T) {
	for locale, want := range map[string]System{"en-US": US, "en_US": US, "es-US": US, "en-GB": Metric, "de": Metric, "": Metric, "en": Metric, "en-US-u-ca-buddhist": US} {
		assert.Equal(t, want, SystemOf(locale), locale)
	}
}
