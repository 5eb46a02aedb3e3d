package stilllife

import (
	"fmt"
	"math"
)

// base is what fills a vessel beneath what lies on top.
type base struct {
	shape  string // of which no topping is drawn
	colour string
	deep   string // of its shadows
	cover  func(c *canvas, b base, rx, ry float64)
	draw   func(c *canvas, b base)
}

// bases are what dishes consist of, by words of their names, kinds and foods. The first line that
// fits decides.
var bases = []entry[base]{
	{"pizza", base{colour: "#e9b56a", deep: "#c9483a", draw: pizza}},
	{"quiche pie spanakopita", base{colour: "#e8b864", deep: "#c98d3c", draw: round}},
	{"pancakes waffles", base{colour: "#e3ac5b", deep: "#c1803a", draw: pile}},
	{"toast", base{colour: "#e8c487", deep: "#b97b3f", draw: toast}},
	{"bread", base{colour: "#d9a05a", deep: "#a96c31", draw: loaf}},
	{"burger buns", base{colour: "#dfa255", deep: "#a96c31", draw: burger}},
	{"tacos quesadilla pita falafel wrap tortilla", base{colour: "#eccf8f", deep: "#cfa457", draw: folded}},
	{"brownies energy", base{shape: "chocolate", colour: "#6b4128", deep: "#4b2a18", draw: squares}},
	{"penne macaroni lasagne", base{shape: "pasta", colour: "#f0d084", deep: "#d7ab52", cover: tubes}},
	{"spaghetti pasta carbonara bolognese", base{shape: "pasta", colour: "#f2d58c", deep: "#ddb45c", cover: strands}},
	{"noodles noodle pad+thai soba", base{shape: "pasta", colour: "#e5c27a", deep: "#b98a45", cover: strands}},
	{"salad coleslaw tabbouleh", base{shape: "leaf", colour: "#7fae5a", deep: "#5c8b3e", cover: leaves}},
	{"porridge oats pudding", base{shape: "grain", colour: "#f0e4cb", deep: "#d9c39a", cover: grains}},
	{"rice risotto biryani", base{shape: "grain", colour: "#f7efdc", deep: "#e2d3ac", cover: grains}},
	{"couscous quinoa polenta barley", base{shape: "grain", colour: "#ecd18a", deep: "#cda85a", cover: grains}},
	{"smoothie strawberry+smoothie", base{colour: "#ea8f9b", deep: "#d9707f", cover: liquid}},
	{"pumpkin carrot+and sweet+potato", base{shape: "carrot", colour: "#e58f34", deep: "#c8701d", cover: liquid}},
	{"dal lentil curry", base{colour: "#dca23c", deep: "#bd8026", cover: liquid}},
	{"split+pea pea+soup spinach+sauce green+bean guacamole", base{colour: "#9bb35a", deep: "#7a9340", cover: liquid}},
	{"chili goulash bolognese ratatouille shakshuka tomato minestrone moussaka parmigiana", base{shape: "tomato", colour: "#c94f38", deep: "#a63a28", cover: liquid}},
	{"stew lentils red+wine chocolate", base{colour: "#8e4a2f", deep: "#6e3621", cover: liquid}},
	{"soup hummus leek gratin cheese cauliflower mash crumble frittata scrambled omelette", base{colour: "#efd59a", deep: "#d8b569", cover: liquid}},
	{"stir-fry bowls bowl", base{shape: "grain", colour: "#f7efdc", deep: "#e2d3ac", cover: grains}},
}

// baseOf goes by the name before the kinds. By what goes into it, only a dish is known that is in
// something deep: a fish with beans is no soup of them.
func baseOf(name string, kinds, foods []string, in vessel) base {
	known := [][]string{{name}, kinds}
	if in == bowl || in == pan || in == tray {
		known = append(known, foods)
	}
	for _, texts := range known {
		if b, ok := firstOf(bases, texts...); ok {
			return b
		}
	}
	return base{}
}

// ground draws a scene's base, and nothing for a dish that lies on a bare plate.
func (c *canvas) ground(s scene) {
	rx, ry := s.vessel.reach()
	switch {
	case s.base.cover != nil:
		s.base.cover(c, s.base, rx, ry)
	case s.base.draw != nil:
		s.base.draw(c, s.base)
	case s.vessel == pan || s.vessel == tray || s.vessel == bowl:
		b := base{colour: "#e7c98d", deep: "#cfa65c"}
		liquid(c, b, rx, ry)
	}
}

// liquid is soup, sauce, or anything else with a surface.
func liquid(c *canvas, b base, rx, ry float64) {
	c.ellipse(middleX, middleY, rx+34, ry+34, b.colour)
	c.faint(0.5, func() {
		for i := range 5 {
			r := 12 + float64(i)*12
			a := c.between(0, 360)
			c.at(middleX, middleY, a, 1, func() {
				c.line(fmt.Sprintf("M%s 0A%s %s 0 0 1 0 %s", short(r*rx/60), short(r*rx/60), short(r*ry/60), short(r*ry/60)), b.deep, 4)
			})
		}
	})
	c.faint(0.5, func() { c.ellipse(middleX-rx*0.35, middleY-ry*0.4, 13, 6, "#fffaf0") })
}

// strands are long pasta, wound on a fork.
func strands(c *canvas, b base, rx, ry float64) {
	c.ellipse(middleX, middleY, rx+2, ry+2, b.deep)
	for i := range 46 {
		r := 10 + math.Mod(float64(i)*13.7, rx-8)
		a, sweep := c.between(0, 2*math.Pi), c.between(0.9, 2.1)
		x, y := c.between(-9, 9), c.between(-9, 9)
		k := ry / rx
		c.line(fmt.Sprintf("M%s %sA%s %s 0 0 1 %s %s",
			short(middleX+x+r*math.Cos(a)), short(middleY+y+r*k*math.Sin(a)), short(r), short(r*k),
			short(middleX+x+r*math.Cos(a+sweep)), short(middleY+y+r*k*math.Sin(a+sweep))), b.colour, 3.4)
	}
}

// tubes are short pasta.
func tubes(c *canvas, b base, rx, ry float64) {
	c.ellipse(middleX, middleY, rx+6, ry+6, b.deep)
	c.scatter(60, rx+4, ry+4, func(x, y, turn float64) {
		c.at(x, y, turn, 1, func() {
			c.rect(-10, -4, 20, 8, 3, b.colour)
			c.ellipse(9, 0, 2, 3, b.deep)
		})
	})
}

// grains are rice, couscous and what is like them.
func grains(c *canvas, b base, rx, ry float64) {
	c.ellipse(middleX, middleY, rx+12, ry+12, b.deep)
	c.scatter(150, rx+10, ry+10, func(x, y, turn float64) {
		c.at(x, y, turn, 1, func() { c.ellipse(0, 0, 5.4, 2.6, b.colour) })
	})
}

// leaves are a salad.
func leaves(c *canvas, b base, rx, ry float64) {
	c.ellipse(middleX, middleY, rx+8, ry+8, b.deep)
	c.scatter(34, rx+6, ry+6, func(x, y, turn float64) {
		green := c.oneOf(b.colour, "#93bd69", "#6f9f4c", "#a9c97a")
		c.at(x, y, turn, 1.5, func() {
			c.path("M-11 0Q-6 -9 3 -7Q12 -6 12 0Q11 8 2 7Q-7 8 -11 0Z", green)
			c.line("M-9 0H9", b.deep, 1)
		})
	})
}
