package stilllife

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// canvas is a picture while it is drawn.
type canvas struct {
	out  bytes.Buffer
	seed uint64
}

func newCanvas(seed uint64) *canvas {
	c := &canvas{seed: seed}
	fmt.Fprintf(&c.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">`, Width, Height)
	return c
}

func (c *canvas) bytes() []byte { return append(c.out.Bytes(), "</svg>"...) }

// next is a number in [0, 1). The sequence follows from the seed alone (splitmix64), so that it does
// not change with a release of Go.
func (c *canvas) next() float64 {
	c.seed += 0x9e3779b97f4a7c15
	z := c.seed
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return float64((z^(z>>31))>>11) / (1 << 53)
}

// between is a number in [low, high).
func (c *canvas) between(low, high float64) float64 { return low + c.next()*(high-low) }

// oneOf picks a colour.
func (c *canvas) oneOf(colours ...string) string {
	return colours[int(c.next()*float64(len(colours)))]
}

// short writes a number with one decimal at most.
func short(f float64) string {
	return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64)
}

func (c *canvas) circle(x, y, r float64, fill string) {
	fmt.Fprintf(&c.out, `<circle cx="%s" cy="%s" r="%s" fill="%s"/>`, short(x), short(y), short(r), fill)
}

func (c *canvas) ring(x, y, r, width float64, stroke string) {
	fmt.Fprintf(&c.out, `<circle cx="%s" cy="%s" r="%s" fill="none" stroke="%s" stroke-width="%s"/>`, short(x), short(y), short(r), stroke, short(width))
}

func (c *canvas) ellipse(x, y, rx, ry float64, fill string) {
	fmt.Fprintf(&c.out, `<ellipse cx="%s" cy="%s" rx="%s" ry="%s" fill="%s"/>`, short(x), short(y), short(rx), short(ry), fill)
}

func (c *canvas) rect(x, y, w, h, round float64, fill string) {
	fmt.Fprintf(&c.out, `<rect x="%s" y="%s" width="%s" height="%s" rx="%s" fill="%s"/>`, short(x), short(y), short(w), short(h), short(round), fill)
}

func (c *canvas) path(d, fill string) { fmt.Fprintf(&c.out, `<path d="%s" fill="%s"/>`, d, fill) }

func (c *canvas) line(d, stroke string, width float64) {
	fmt.Fprintf(&c.out, `<path d="%s" fill="none" stroke="%s" stroke-width="%s" stroke-linecap="round" stroke-linejoin="round"/>`, d, stroke, short(width))
}

// at draws something around a place, turned and scaled.
func (c *canvas) at(x, y, turn, scale float64, draw func()) {
	fmt.Fprintf(&c.out, `<g transform="translate(%s %s) rotate(%s) scale(%s)">`, short(x), short(y), short(turn), strconv.FormatFloat(math.Round(scale*100)/100, 'f', -1, 64))
	draw()
	c.out.WriteString("</g>")
}

// faint draws something that shows what lies beneath it.
func (c *canvas) faint(opacity float64, draw func()) {
	fmt.Fprintf(&c.out, `<g opacity="%s">`, strconv.FormatFloat(opacity, 'f', -1, 64))
	draw()
	c.out.WriteString("</g>")
}

// inside draws something that a shape cuts off.
func (c *canvas) inside(shape string, draw func()) {
	c.out.WriteString(`<clipPath id="v">` + shape + `</clipPath><g clip-path="url(#v)">`)
	draw()
	c.out.WriteString("</g>")
}

// golden is the angle by which places on a spiral fill a circle evenly.
const golden = 2.399963

// scatter draws n things that fill an ellipse around the middle.
func (c *canvas) scatter(n int, rx, ry float64, draw func(x, y, turn float64)) {
	from := c.between(0, 2*math.Pi)
	for i := range n {
		r := math.Sqrt((float64(i) + 0.5) / float64(n))
		a := from + golden*float64(i) + c.between(-0.2, 0.2)
		draw(middleX+rx*r*math.Cos(a), middleY+ry*r*math.Sin(a), c.between(0, 360))
	}
}
