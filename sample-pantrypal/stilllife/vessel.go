package stilllife

import "fmt"

// The middle of a picture.
const (
	middleX = Width / 2
	middleY = Height / 2
)

// vessel is what a dish is served in.
type vessel int

const (
	plate vessel = iota
	bowl
	pan
	tray // from the oven
	board
	glass
)

// vessels are what dishes are served in, by words of their names and kinds. The first line that fits
// decides.
var vessels = []entry[vessel]{
	{"smoothie shake drink lemonade", glass},
	{"lasagne lasagna gratin moussaka parmigiana crumble casserole bake cauliflower+cheese fish+pie stuffed brownies macaroni baked+salmon oven+cod roast", tray},
	{"shakshuka frittata omelette fried+rice paella stir-fry risotto sausages scrambled", pan},
	{"bread pizza toast burger buns tacos quesadilla pita sandwich wrap focaccia spanakopita quiche puff+pie energy+balls cookies", board},
	{"soup stew curry dal chili goulash porridge oats pudding bowl salad coleslaw tabbouleh guacamole hummus minestrone ratatouille noodles biryani ramen stroganoff", bowl},
}

func vesselOf(name string, kinds []string) vessel {
	if v, ok := firstOf(vessels, name); ok {
		return v
	}
	v, _ := firstOf(vessels, kinds...)
	return v
}

// reach is how far what is in a vessel extends from its middle.
func (v vessel) reach() (rx, ry float64) {
	switch v {
	case bowl, pan:
		return 60, 60
	case tray:
		return 84, 50
	case board:
		return 84, 46
	case glass:
		return 40, 40
	}
	return 58, 58
}

// table draws the table, a cloth on it, what lies beside the vessel, and the shadow.
func (c *canvas) table(s scene) {
	ground := c.oneOf("#d9a07c", "#b7c6a1", "#e2c07c", "#a7bdc9", "#c5a3b3", "#dfcfae", "#9cbfb4", "#e0b1a2", "#c9b79c", "#a9b6d3")
	c.rect(0, 0, Width, Height, 0, ground)
	c.faint(0.22, func() {
		c.at(middleX, middleY, c.between(-35, 35), 1, func() {
			for i := range 7 {
				c.rect(-260, -150+float64(i)*46, 520, 16, 0, "#fffaf0")
			}
		})
	})
	if s.vessel != glass && s.vessel != board {
		c.cutlery(s.vessel)
	}
	side := 1.0
	for i, t := range s.toppings {
		if i == 2 {
			break
		}
		x, y := middleX+side*c.between(124, 136), float64(middleY)+c.between(86, 96)*(1-2*float64(i))
		c.faint(0.18, func() { c.ellipse(x+3, y+5, 17, 14, "#2b1c10") })
		c.at(x, y, c.between(-30, 30), 1.45, func() { t.draw(c) })
		side = -side
	}
}

// cutlery lies beside plates and bowls.
func (c *canvas) cutlery(v vessel) {
	if v == bowl {
		c.at(284, middleY, 8, 1, func() {
			c.ellipse(0, -38, 11, 17, "#f4f1ea")
			c.line("M0 -22V62", "#f4f1ea", 5)
		})
		return
	}
	c.at(36, middleY, -6, 1, func() {
		c.line("M0 -10V62", "#f4f1ea", 5)
		c.line("M-9 -52V-30Q-9 -14 0 -12Q9 -14 9 -30V-52M0 -52V-14", "#f4f1ea", 3.4)
	})
}

// serve draws the vessel with what is in it.
func (c *canvas) serve(s scene) {
	glaze := c.oneOf("#fbf6ea", "#f3e7d3", "#dfe8ea", "#e9d9cf", "#5f7f8c", "#7d8f6b", "#b5654a")
	shadow := func(draw func()) { c.faint(0.2, draw) }
	fill := func(shape string) {
		c.inside(shape, func() { c.fill(s) })
	}
	switch s.vessel {
	case bowl:
		shadow(func() { c.circle(middleX+5, middleY+9, 88, "#2b1c10") })
		c.circle(middleX, middleY, 88, glaze)
		c.ring(middleX, middleY, 85, 2, "#ffffff55")
		fill(`<circle cx="160" cy="120" r="74"/>`)
		c.ring(middleX, middleY, 74, 4, "#2b1c1026")
	case pan:
		shadow(func() { c.circle(middleX+5, middleY+9, 88, "#2b1c10") })
		c.at(middleX, middleY, -28, 1, func() { c.rect(78, -11, 100, 22, 11, "#2f3437") })
		c.circle(middleX, middleY, 88, "#3a4145")
		c.circle(middleX, middleY, 80, "#2f3437")
		fill(`<circle cx="160" cy="120" r="75"/>`)
	case tray:
		shadow(func() { c.rect(58, 59, 216, 142, 26, "#2b1c10") })
		c.rect(38, 96, 244, 48, 18, glaze)
		c.rect(52, 50, 216, 140, 26, glaze)
		fill(`<rect x="64" y="62" width="192" height="116" rx="18"/>`)
		fmt.Fprint(&c.out, `<rect x="64" y="62" width="192" height="116" rx="18" fill="none" stroke="#2b1c10" stroke-opacity=".2" stroke-width="4"/>`)
	case board:
		shadow(func() { c.rect(55, 60, 222, 136, 18, "#2b1c10") })
		c.rect(49, 52, 222, 136, 18, "#b98455")
		c.line("M66 84H254M66 118H230M90 152H254", "#a87446", 2)
		c.fill(s)
	case glass:
		shadow(func() { c.circle(middleX+5, middleY+9, 64, "#2b1c10") })
		c.circle(middleX, middleY, 62, "#f4f8f8")
		fill(`<circle cx="160" cy="120" r="54"/>`)
		c.ring(middleX, middleY, 58, 3, "#ffffffaa")
		c.line("M168 112L232 44", "#d4574a", 8)
	default:
		shadow(func() { c.circle(middleX+5, middleY+9, 94, "#2b1c10") })
		c.circle(middleX, middleY, 94, "#fbf6ea")
		c.circle(middleX, middleY, 72, "#f4ecdb")
		c.ring(middleX, middleY, 72, 1.5, "#e2d5bb")
		fill(`<circle cx="160" cy="120" r="84"/>`)
	}
}

// fill draws what is in the vessel.
func (c *canvas) fill(s scene) {
	rx, ry := s.vessel.reach()
	c.ground(s)
	if len(s.toppings) == 0 {
		return
	}
	most := 11
	if s.vessel == glass {
		most = 3
	}
	if s.base.draw != nil { // a thing of its own that toppings must not hide
		most = 7
	}
	n := 0
	c.scatter(most, rx*0.86, ry*0.86, func(x, y, turn float64) {
		t := s.toppings[(n*n+n/2)%len(s.toppings)]
		n++
		c.at(x, y, turn, c.between(0.9, 1.15), func() { t.draw(c) })
	})
}
