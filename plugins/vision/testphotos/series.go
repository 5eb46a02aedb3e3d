// Package testphotos makes photos of packages with barcodes as a phone would take
// them: a pinhole camera looks at flat and round packages on a table; light, lens,
// hand, sensor and JPEG each spoil the picture as they do. The same seed makes the
// same photos, byte for byte.
//
// What belongs here: how a photo comes about. Not here: anything from the
// package barcode, which is measured by these photos.
package testphotos

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Photo is a file and what it shows.
type Photo struct {
	Name     string
	Category string
	File     []byte // JPEG
	Width    int    // as shown, that is: turned as the EXIF data says
	Height   int
	Codes    []Code
	// Middles holds the place of each code's middle, in pixels of the picture as shown.
	Middles [][2]float64
}

// Category is one kind of photo.
type Category struct {
	Name  string
	Count int
	plan  func(*plan)
}

// plan is a photo before it is taken.
type plan struct {
	scene
	n           int // of the category
	codes       int
	formats     []string // taken in turn
	module      [2]float64
	angle       float64 // at most, to both sides
	arrange     func(*thing, *rand.Rand)
	quality     int
	orientation int
	crop        *float64 // where the picture ends beside its only code, in modules from the code's edge
	random      *rand.Rand
}

func (p *plan) between(from, to float64) float64 { return from + (to-from)*p.random.Float64() }

var groceries = []string{"ean13", "ean13", "upca", "ean13", "ean8"}

// Categories returns the kinds of photos of a series: 60 photos.
func Categories() []Category {
	return []Category{
		{"plain", 5, func(p *plan) {}},
		{"angles", 6, func(p *plan) { p.angle = 180 }},
		{"blur", 6, func(p *plan) {
			p.blur = p.between(1.2, 2)
			p.module = [2]float64{2.6, 4}
			p.codes = 3
		}},
		{"motion", 4, func(p *plan) {
			p.motion, p.direction = p.between(3, 6), p.between(0, 180)
			p.module = [2]float64{2.8, 4}
			p.codes = 3
		}},
		{"noise", 5, func(p *plan) { p.photons, p.exposure = p.between(60, 250), p.between(0.5, 0.9) }},
		{"light", 6, func(p *plan) {
			p.gradient, p.shadow, p.stripes, p.exposure = p.between(0.3, 0.7), p.between(0.3, 0.7), p.n%2 == 0, p.between(0.6, 1.1)
			p.arrange = func(t *thing, r *rand.Rand) {
				if r.IntN(2) == 0 {
					t.glare = 0.3 + 0.5*r.Float64()
				}
			}
		}},
		{"perspective", 5, func(p *plan) {
			p.angle, p.codes = 90, 3
			p.arrange = func(t *thing, r *rand.Rand) { t.tilt, t.nod = 80*r.Float64()-40, 80*r.Float64()-40 }
		}},
		{"curved", 6, func(p *plan) {
			p.codes, p.angle = 3, 25
			p.arrange = func(t *thing, r *rand.Rand) {
				t.radius, t.rings = 62+60*r.Float64(), r.IntN(3) == 0
				t.tilt, t.nod = 20*r.Float64()-10, 20*r.Float64()-10
				t.look.tall = 50
			}
		}},
		{"small", 5, func(p *plan) { p.module, p.codes = [2]float64{1.5, 1.9}, 6 }},
		{"crowded", 2, func(p *plan) {
			p.width, p.height, p.codes, p.module, p.angle = 2016, 1512, 24, [2]float64{1.8, 2.4}, 180
		}},
		{"table", 1, func(p *plan) {
			p.width, p.height, p.codes, p.module, p.angle = 4032, 3024, 40, [2]float64{1.7, 1.7}, 180
		}},
		{"inverted", 2, func(p *plan) {
			p.arrange = func(t *thing, _ *rand.Rand) { t.look.inverted = true }
			p.codes, p.formats = 3, []string{"ean13", "code128", "qr"}
		}},
		{"formats", 4, func(p *plan) {
			p.formats, p.angle = []string{"upce", "code128", "itf", "qr"}, 45
			p.arrange = func(t *thing, _ *rand.Rand) { t.look.bearer = t.code.Format == "itf" }
		}},
		{"exif", 3, func(p *plan) {
			p.orientation = []int{6, 8, 5}[p.n%3]
			p.codes, p.formats = 3, []string{"ean13", "qr", "ean8"}
		}},
	}
}

// Seed is that of the series which the tests read; the category's number is added
// to it.
const Seed = 100

// Series makes the photos of all categories, one after the other.
func Series(seed uint64, each func(Photo) error) error {
	for i, c := range Categories() {
		for n := range c.Count {
			p, err := c.Photo(seed+uint64(i), n)
			if err != nil {
				return err
			}
			if err := each(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Photo makes photo n of a category.
func (c Category) Photo(seed uint64, n int) (Photo, error) {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	p := plan{
		scene: scene{
			width: 1280, height: 960, backdrop: random.IntN(4), gradient: 0.2 * random.Float64(),
			exposure: 0.75 + 0.3*random.Float64(), blur: 0.3 + 0.5*random.Float64(), photons: 500 + 1500*random.Float64(),
			sharpen: 0.6 * random.Float64(),
		},
		n: n, codes: 4, formats: groceries, module: [2]float64{2, 3}, angle: 30, quality: 60 + random.IntN(31), random: random,
	}
	c.plan(&p)
	if err := p.fill(); err != nil {
		return Photo{}, fmt.Errorf("%s %d: %w", c.Name, n, err)
	}
	img, err := p.render(random)
	if err != nil {
		return Photo{}, err
	}
	if p.crop != nil {
		img = p.cut(img)
	}
	file, err := encode(img, p.quality, p.orientation)
	if err != nil {
		return Photo{}, err
	}
	out := Photo{Name: fmt.Sprintf("%s-%d", c.Name, n+1), Category: c.Name, File: file, Width: p.width, Height: p.height}
	for _, t := range p.things {
		out.Codes = append(out.Codes, t.code)
		out.Middles = append(out.Middles, [2]float64{t.x, t.y})
	}
	return out, nil
}

// fill puts packages onto the table, each where its code lies within the picture
// and on no other code.
func (p *plan) fill() error {
	for range 20 {
		if p.things = nil; p.arrangeAll() {
			return nil
		}
	}
	return fmt.Errorf("%d codes do not fit into %d x %d pixels", p.codes, p.width, p.height)
}

func (p *plan) arrangeAll() bool {
	for i := range p.codes {
		t := thing{
			code:   NewCode(p.formats[(i+p.n)%len(p.formats)], p.random),
			module: p.between(p.module[0], p.module[1]),
			angle:  p.between(-p.angle, p.angle),
			look: look{
				quiet: p.between(5, 10), tall: p.between(28, 50), ink: p.between(0.03, 0.1), paper: p.between(0.6, 0.85),
				gain: p.between(-0.08, 0.1),
			},
		}
		if t.code.Format == "qr" {
			t.module = max(t.module*1.2, 2.4)
		}
		if p.arrange != nil {
			p.arrange(&t, p.random)
		}
		if !p.find(&t) {
			return false
		}
		p.things = append(p.things, t)
	}
	return true
}

// find looks for a free place.
func (p *plan) find(t *thing) bool {
	for range 1000 {
		t.x, t.y = p.between(0, float64(p.width)), p.between(0, float64(p.height))
		inside := true
		for _, c := range p.corners(*t) {
			inside = inside && c[0] > 4 && c[1] > 4 && c[0] < float64(p.width-4) && c[1] < float64(p.height-4)
		}
		free := inside
		for _, other := range p.things {
			free = free && !overlap(p.corners(*t), p.corners(other))
		}
		if free {
			return true
		}
	}
	return false
}

// corners returns where the package's corners are in the picture, leaving out the
// depth of round ones.
func (p *plan) corners(t thing) (out [4][2]float64) {
	width, height := 60.0, t.look.tall/2+12
	switch t.code.Format {
	case "qr":
		width, height = 24, 24
	case "ean8", "upce":
		width = 45
	case "code128":
		width = 120
	case "itf":
		width = 80
	}
	width += t.look.quiet
	sin, cos := math.Sincos(t.angle * math.Pi / 180)
	for i, c := range [4][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
		u, v := c[0]*width*t.module, c[1]*height*t.module
		out[i] = [2]float64{t.x + u*cos - v*sin, t.y + u*sin + v*cos}
	}
	return out
}

// overlap reports whether two rectangles share a place: none of their edges
// separates them.
func overlap(a, b [4][2]float64) bool {
	for _, quad := range [2][4][2]float64{a, b} {
		for i := range 2 {
			nx, ny := quad[i+1][1]-quad[i][1], quad[i][0]-quad[i+1][0]
			span := func(q [4][2]float64) (lo, hi float64) {
				lo, hi = math.Inf(1), math.Inf(-1)
				for _, c := range q {
					d := c[0]*nx + c[1]*ny
					lo, hi = min(lo, d), max(hi, d)
				}
				return lo, hi
			}
			aLo, aHi := span(a)
			bLo, bHi := span(b)
			if aHi < bLo || bHi < aLo {
				return false
			}
		}
	}
	return true
}
