package stilllife

// topping is a food as it lies on a dish, about 22 units wide around the place it lies at.
type topping struct {
	shape  string // toppings of one shape and colour look alike
	colour string
	deep   string
	paint  func(c *canvas, t topping)
}

func (t topping) draw(c *canvas) { t.paint(c, t) }

// resembles reports whether another topping would look the same.
func (t topping) resembles(other topping) bool {
	return t.shape == other.shape && t.colour == other.colour
}

// toppings are foods as they are drawn, by words of their ids. The first line that fits decides, so
// that "sweet potatoes" stand before "potatoes".
var toppings = []entry[topping]{
	{"sweet+potato pumpkin squash", topping{"cube", "#e58f34", "#c4701c", cube}},
	{"peanut+butter", topping{"drop", "#b98245", "#99652f", drop}},
	{"tomato+paste curry+powder stock oil vinegar salt black+pepper sugar flour baking yeast water soy+sauce wine cream coconut+milk milk butter cumin paprika oregano cinnamon", topping{}},
	{"cherry+tomato tomato canned+tomato", topping{"tomato", "#d9472f", "#f08a6b", slice}},
	{"egg", topping{"egg", "#fffdf5", "#f2b632", egg}},
	{"broccoli", topping{"floret", "#4f8a3c", "#9cc07a", floret}},
	{"cauliflower", topping{"floret", "#f5ecd3", "#d5dca8", floret}},
	{"carrot", topping{"carrot", "#ee8a2a", "#f9b465", slice}},
	{"beetroot", topping{"slice", "#8d2a52", "#b64a76", slice}},
	{"radish", topping{"slice", "#fbeef0", "#d9475f", slice}},
	{"cucumber courgette zucchini gherkin", topping{"slice", "#5f9a4a", "#dcecc0", slice}},
	{"aubergine", topping{"slice", "#5a3566", "#f0e3c4", slice}},
	{"lemon", topping{"citrus", "#f4cf3f", "#fdf0b0", citrus}},
	{"lime", topping{"citrus", "#8dbb3a", "#dff0b0", citrus}},
	{"orange", topping{"citrus", "#f09a2e", "#fcd79a", citrus}},
	{"bell+pepper red+pepper pepper", topping{"ring", "#d33f33", "#d33f33", hoop}},
	{"leek spring+onion", topping{"ring", "#8fb85c", "#dcebb8", hoop}},
	{"red+onion", topping{"ring", "#a4486f", "#eac4d6", hoop}},
	{"olive", topping{"ring", "#4a4a3a", "#4a4a3a", hoop}},
	{"onion shallot", topping{"ring", "#e8d3a6", "#fbf2dc", hoop}},
	{"salmon trout", topping{"fish", "#f2936f", "#f9c0a4", fillet}},
	{"cod haddock tuna anchov fish", topping{"fish", "#f4e9da", "#dcc9ad", fillet}},
	{"prawn shrimp", topping{"prawn", "#f39a78", "#fbd0bb", prawn}},
	{"mussel", topping{"mussel", "#2f3b4c", "#f0a552", mussel}},
	{"sausage chorizo", topping{"sausage", "#a9502f", "#c9744d", sausage}},
	{"bacon ham pancetta", topping{"strip", "#d4776b", "#f0c4b6", strip}},
	{"steak beef lamb minced", topping{"meat", "#7b4029", "#9a5a3c", chunk}},
	{"chicken turkey", topping{"meat", "#d9a160", "#edc590", chunk}},
	{"pork", topping{"meat", "#b8704b", "#d29570", chunk}},
	{"tofu feta goat paneer halloumi", topping{"cube", "#fdf8ea", "#dccfae", cube}},
	{"mozzarella", topping{"drop", "#fdf8ea", "#e6dcc0", drop}},
	{"cheddar parmesan cheese gruyere", topping{"cube", "#f2c14f", "#d79c2c", cube}},
	{"potato", topping{"potato", "#ecc77c", "#d3a350", chunk}},
	{"mushroom", topping{"mushroom", "#d9c2a0", "#a98761", mushroom}},
	{"black+bean kidney", topping{"bean", "#4a2f35", "#7a5560", bean}},
	{"green+bean", topping{"strip", "#5f9a4a", "#8dbb66", strip}},
	{"chickpea", topping{"bean", "#e6c583", "#c9a055", bean}},
	{"bean lentil", topping{"bean", "#c98d4a", "#a56d30", bean}},
	{"pea sweetcorn edamame", topping{"pea", "#77ad4c", "#a2cd7a", peas}},
	{"avocado", topping{"avocado", "#c9d98a", "#7a4f2b", avocado}},
	{"strawberr raspberr", topping{"berry", "#d8364a", "#5f9a4a", berry}},
	{"blueberr berries blackberr currant raisin", topping{"berry", "#4a5590", "#7d88bd", peas}},
	{"banana", topping{"slice", "#f4dd8f", "#fdf3cf", slice}},
	{"apple pear", topping{"wedge", "#c9463a", "#fbeec6", wedge}},
	{"mango peach", topping{"cube", "#f5b041", "#d98e1f", cube}},
	{"grape", topping{"pea", "#7b4a7d", "#a878aa", peas}},
	{"chocolate cocoa", topping{"chocolate", "#5a3522", "#7a4b32", cube}},
	{"cabbage lettuce kale rocket", topping{"leaf", "#9cc069", "#6f9f4c", leaf}},
	{"basil mint parsley spinach coriander chive dill thyme rosemary chard celery", topping{"leaf", "#4f8f45", "#7cb565", leaf}},
	{"almond cashew peanut walnut hazelnut nuts pine+nut pistachio seed date", topping{"nut", "#c9955a", "#a36f38", nut}},
	{"garlic", topping{"garlic", "#fbf3e4", "#d9c7ab", garlic}},
	{"ginger", topping{"nut", "#d8b06a", "#b58a45", nut}},
	{"chilli chili", topping{"strip", "#cf2e26", "#e8604f", strip}},
}

// toppingOf is a food as it is drawn, if it is to be seen in a dish at all.
func toppingOf(food string) (topping, bool) {
	t, ok := firstOf(toppings, food)
	return t, ok && t.paint != nil
}

func slice(c *canvas, t topping) {
	c.circle(0, 0, 11, t.colour)
	c.circle(0, 0, 8, t.deep)
	c.circle(0, 0, 3.4, t.colour)
}

func citrus(c *canvas, t topping) {
	c.circle(0, 0, 12, t.colour)
	c.circle(0, 0, 9.6, t.deep)
	c.line("M0 -8V8M-7 -4L7 4M-7 4L7 -4", t.colour, 1.6)
}

func egg(c *canvas, t topping) {
	c.path("M-15 2Q-17 -10 -5 -14Q6 -17 13 -8Q19 0 13 9Q6 17 -4 14Q-14 13 -15 2Z", t.colour)
	c.circle(-1, 0, 6.6, t.deep)
	c.circle(-3, -2, 1.8, "#fff3c4")
}

func floret(c *canvas, t topping) {
	c.line("M0 2V13", t.deep, 6)
	for _, p := range [][3]float64{{-7, 0, 7}, {7, 0, 7}, {0, -6, 8}, {0, 2, 7}} {
		c.circle(p[0], p[1], p[2], t.colour)
	}
	c.faint(0.35, func() { c.circle(-3, -7, 3, "#fffaf0"); c.circle(6, -2, 2.4, "#fffaf0") })
}

func hoop(c *canvas, t topping) {
	c.ring(0, 0, 9, 4, t.colour)
	c.ring(0, 0, 4.4, 1.8, t.deep)
}

func fillet(c *canvas, t topping) {
	c.path("M-22 2Q-16 -13 4 -12Q22 -10 24 0Q20 12 2 12Q-18 12 -22 2Z", t.colour)
	c.line("M-13 -5Q-8 0 -12 7M-4 -8Q2 0 -3 9M6 -8Q12 0 7 9", t.deep, 2.2)
}

func prawn(c *canvas, t topping) {
	c.line("M-8 7Q-14 -8 2 -9Q13 -8 10 4", t.colour, 7)
	c.line("M-7 0L-3 1M-3 -6L-1 -3M4 -8L4 -4", t.deep, 2)
	c.path("M9 3L15 9L5 8Z", t.colour)
}

func mussel(c *canvas, t topping) {
	c.path("M-13 8Q-14 -10 4 -12Q15 -12 13 0Q8 12 -13 8Z", t.colour)
	c.path("M-8 5Q-8 -5 4 -7Q10 -6 8 1Q4 7 -8 5Z", t.deep)
}

func sausage(c *canvas, t topping) {
	c.line("M-14 4Q0 -7 14 3", t.colour, 11)
	c.line("M-7 -1L-4 4M1 -3L4 2M9 -1L12 4", t.deep, 2)
}

func strip(c *canvas, t topping) {
	c.line("M-13 3Q-6 -5 0 0T13 -3", t.colour, 6)
	c.line("M-12 2Q-6 -5 0 -1T12 -4", t.deep, 1.8)
}

func chunk(c *canvas, t topping) {
	c.path("M-12 3Q-13 -8 -3 -10Q9 -12 12 -3Q14 7 5 10Q-8 13 -12 3Z", t.colour)
	c.path("M-7 -1Q-6 -6 0 -7Q6 -8 8 -3Q3 -2 -1 0Q-4 2 -7 -1Z", t.deep)
}

func cube(c *canvas, t topping) {
	c.rect(-7, -5, 15, 14, 3, t.deep)
	c.rect(-8, -8, 15, 14, 3, t.colour)
}

func drop(c *canvas, t topping) {
	c.path("M-13 1Q-13 -10 0 -11Q12 -10 13 0Q12 11 0 11Q-12 11 -13 1Z", t.colour)
	c.line("M-7 -3Q-2 -7 4 -5", t.deep, 2)
}

func mushroom(c *canvas, t topping) {
	c.path("M-12 0Q-11 -12 0 -12Q11 -12 12 0Q6 3 4 2V10H-4V2Q-7 3 -12 0Z", t.colour)
	c.line("M-8 -1Q0 3 8 -1M-3 2V9M3 2V9", t.deep, 1.6)
}

func bean(c *canvas, t topping) {
	for _, p := range [][3]float64{{-7, -4, 20}, {6, -5, 110}, {0, 7, 60}} {
		c.at(p[0], p[1], p[2], 1, func() {
			c.ellipse(0, 0, 6.4, 4.4, t.colour)
			c.line("M-2.6 -1Q0 -2.4 2.6 -1", t.deep, 1.3)
		})
	}
}

func peas(c *canvas, t topping) {
	for _, p := range [][2]float64{{-6, -4}, {5, -6}, {-2, 6}, {8, 4}} {
		c.circle(p[0], p[1], 4.6, t.colour)
		c.circle(p[0]-1.4, p[1]-1.4, 1.4, t.deep)
	}
}

func avocado(c *canvas, t topping) {
	c.path("M-17 0Q-13 -12 2 -10Q17 -11 17 0Q17 11 2 10Q-13 12 -17 0Z", "#4d6b32")
	c.path("M-14 0Q-10 -9 2 -7.6Q14 -8 14 0Q14 8 2 7.6Q-10 9 -14 0Z", t.colour)
	c.circle(5, 0, 5, t.deep)
}

func berry(c *canvas, t topping) {
	c.path("M0 12Q-12 4 -9 -6Q0 -12 9 -6Q12 4 0 12Z", t.colour)
	c.path("M-7 -7L0 -13L7 -7L0 -4Z", t.deep)
	for _, p := range [][2]float64{{-4, -1}, {3, 0}, {-1, 5}} {
		c.circle(p[0], p[1], 1, "#fbe3b0")
	}
}

func wedge(c *canvas, t topping) {
	c.path("M-14 -2Q0 18 14 -2Q0 6 -14 -2Z", t.colour)
	c.path("M-13 -3Q0 13 13 -3Q0 -6 -13 -3Z", t.deep)
	c.ellipse(0, 1, 1.6, 2.6, "#6b3d26")
}

func leaf(c *canvas, t topping) {
	c.path("M-14 2Q-8 -10 4 -8Q12 -6 15 2Q8 9 -2 8Q-10 7 -14 2Z", t.colour)
	c.line("M-12 2Q0 -1 13 2", t.deep, 1.4)
}

func nut(c *canvas, t topping) {
	c.path("M-9 4Q-11 -5 -2 -7Q9 -8 10 -1Q9 3 3 2Q-1 3 -2 6Q-7 9 -9 4Z", t.colour)
	c.line("M-5 2Q-3 -3 5 -3", t.deep, 1.5)
}

func garlic(c *canvas, t topping) {
	c.path("M0 -13Q3 -6 9 -2Q14 4 8 10Q0 14 -8 10Q-14 4 -9 -2Q-3 -6 0 -13Z", t.colour)
	c.line("M0 -9V11M-2 -6Q-8 2 -4 10M2 -6Q8 2 4 10", t.deep, 1.3)
}
