package stilllife

import (
	"fmt"
	"math"
)

func pizza(c *canvas, b base) {
	c.circle(middleX, middleY, 66, b.colour)
	c.circle(middleX, middleY, 57, b.deep)
	c.scatter(9, 46, 46, func(x, y, _ float64) { c.circle(x, y, c.between(7, 11), "#f6e8bd") })
}

// round is a pie or tart.
func round(c *canvas, b base) {
	for i := range 20 {
		a := float64(i) * 2 * math.Pi / 20
		c.circle(middleX+62*math.Cos(a), middleY+62*math.Sin(a), 11, b.deep)
	}
	c.circle(middleX, middleY, 64, b.deep)
	c.circle(middleX, middleY, 57, b.colour)
	c.line("M160 64V176M104 120H216M121 81L199 159M199 81L121 159", "#c98d3c66", 2)
}

// pile is a stack of pancakes, seen a little from the side.
func pile(c *canvas, b base) {
	for i := range 4 {
		y := 150 - float64(i)*13
		c.ellipse(middleX+c.between(-4, 4), y+5, 60, 34, b.deep)
		c.ellipse(middleX+c.between(-4, 4), y, 60, 34, b.colour)
	}
	c.path("M120 108Q132 92 160 94Q192 92 200 110Q204 132 190 130Q186 148 176 132Q150 140 138 128Q128 150 120 132Z", "#b96a22aa")
	c.rect(150, 100, 20, 14, 3, "#fbe9a9")
}

func toast(c *canvas, b base) {
	for i := range 2 {
		c.at(112+float64(i)*94, middleY, -8+float64(i)*17, 1, func() {
			c.rect(-39, -44, 78, 88, 20, b.deep)
			c.rect(-33, -38, 66, 76, 15, b.colour)
		})
	}
}

func loaf(c *canvas, b base) {
	c.at(middleX, middleY, -10, 1, func() {
		c.rect(-84, -40, 168, 80, 40, b.deep)
		c.rect(-84, -44, 168, 78, 39, b.colour)
		for i := range 4 {
			x := -54 + float64(i)*34
			c.line(fmt.Sprintf("M%s -20Q%s 0 %s 20", short(x), short(x+12), short(x+8)), "#f4dcb0", 6)
		}
	})
}

func burger(c *canvas, b base) {
	for i := range 2 {
		c.at(112+float64(i)*96, middleY, 0, 1, func() {
			c.path("M-46 6Q-34 -2 -22 6Q-10 14 2 6Q14 -2 26 6Q38 14 46 6V20H-46Z", "#7fae5a")
			c.rect(-42, 16, 84, 14, 7, "#6b3d26")
			c.rect(-43, 28, 86, 16, 8, b.deep)
			c.path("M-44 6Q-42 -42 0 -42Q42 -42 44 6Z", b.colour)
			for _, s := range [][2]float64{{-18, -18}, {0, -28}, {17, -16}, {-4, -10}, {26, -4}} {
				c.ellipse(s[0], s[1], 3.4, 2, "#fbeecb")
			}
		})
	}
}

// folded are tortillas with something in them.
func folded(c *canvas, b base) {
	for i := range 3 {
		c.at(102+float64(i)*58, middleY+4, -14, 1, func() {
			c.path("M-16 -48Q-2 -58 12 -48L14 46Q0 54 -14 46Z", "#7fae5a")
			for n := range 5 {
				c.circle(-6+float64(n%2)*9, -38+float64(n)*18, 7, c.oneOf("#c94f38", "#8e5a35", "#f2e2b4"))
			}
			c.path("M-20 -46Q-44 0 -20 48Q4 40 4 0Q4 -40 -20 -46Z", b.colour)
			c.scatterOn(-18, 0, 8, 34, 6, func(x, y float64) { c.circle(x, y, 2.6, b.deep) })
		})
	}
}

// scatterOn draws n things on an ellipse around a place of its own.
func (c *canvas) scatterOn(x, y, rx, ry float64, n int, draw func(x, y float64)) {
	for range n {
		draw(x+c.between(-rx, rx), y+c.between(-ry, ry))
	}
}

// squares are cut from a tray.
func squares(c *canvas, b base) {
	for i := range 6 {
		x, y := 96+float64(i%3)*64, 90+float64(i/3)*58
		c.at(x, y, c.between(-7, 7), 1, func() {
			c.rect(-26, -22, 52, 48, 7, b.deep)
			c.rect(-26, -26, 52, 48, 7, b.colour)
			c.scatterOn(0, -2, 16, 14, 5, func(x, y float64) { c.circle(x, y, 2.6, "#8a5a3b") })
		})
	}
}
