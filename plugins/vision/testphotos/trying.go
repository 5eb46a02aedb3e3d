package testphotos

import (
	"image"
	"image/draw"
	"math"
	"math/rand/v2"
)

// Trying returns the kinds of photos that are harder than those of a series: codes that
// are printed too near to what is around them, or that are taken badly.
func Trying() []Category {
	var out []Category
	for _, group := range []struct {
		name    string
		formats []string
	}{{"qr", []string{"qr"}}, {"linear", []string{"ean13", "upca", "ean8", "ean13", "code128", "itf", "upce"}}} {
		add := func(name string, change func(*plan)) {
			out = append(out, Category{group.name + " " + name, 8, func(p *plan) {
				p.width, p.height, p.codes, p.formats, p.angle = 800, 600, 2, group.formats, 10
				change(p)
			}})
		}
		printed := func(change func(*look, *rand.Rand)) func(*plan) {
			return func(p *plan) {
				p.arrange = func(t *thing, r *rand.Rand) { change(&t.look, r) }
			}
		}
		between := func(r *rand.Rand, from, to float64) float64 { return from + (to-from)*r.Float64() }
		narrow, none := 1.0, 0.0
		if group.name == "linear" {
			narrow, none = 3, 2
		}
		add("narrow border", printed(func(l *look, r *rand.Rand) { l.quiet, l.tight = narrow*between(r, 0.7, 1.5), true }))
		add("no border", printed(func(l *look, r *rand.Rand) {
			l.quiet, l.tight, l.body, l.plain = none*r.Float64(), true, between(r, 0.3, 0.6), r.IntN(2) == 0
		}))
		add("on dark", printed(func(l *look, r *rand.Rand) {
			l.quiet, l.tight, l.body = narrow*between(r, 1, 2), true, between(r, 0.03, 0.1)
		}))
		add("on white", printed(func(l *look, r *rand.Rand) {
			l.quiet, l.tight, l.body, l.plain = 0, true, l.paper, true
		}))
		add("small", func(p *plan) {
			p.arrange = func(t *thing, r *rand.Rand) {
				t.module, t.look.quiet, t.look.tight = between(r, 1.4, 2), narrow*between(r, 1, 3), true
			}
		})
		add("artefacts", func(p *plan) {
			p.quality = 12 + p.random.IntN(14)
			p.arrange = func(t *thing, r *rand.Rand) { t.look.quiet, t.look.tight = narrow*between(r, 1, 3), true }
		})
		add("inverted", printed(func(l *look, r *rand.Rand) {
			l.inverted, l.quiet, l.tight, l.body = true, narrow*between(r, 0.7, 2), true, between(r, 0.03, 0.7)
		}))
		add("curved", func(p *plan) {
			p.arrange = func(t *thing, r *rand.Rand) {
				t.radius, t.rings = between(r, 25, 60), r.IntN(3) == 0
				if group.name == "linear" {
					t.radius = between(r, 60, 110)
				}
				t.look.quiet, t.look.tight = narrow*between(r, 1, 2), true
			}
		})
		add("pale", func(p *plan) {
			p.arrange = func(t *thing, r *rand.Rand) {
				t.look.ink = between(r, 0.3, 0.5)
				t.look.paper = t.look.ink * between(r, 1.2, 1.6)
				t.look.quiet, t.look.tight = narrow*between(r, 1, 3), true
			}
		})
		add("cropped", func(p *plan) {
			p.codes = 1
			cut := between(p.random, -0.6, 1.5)
			if group.name == "linear" {
				cut = between(p.random, 0.2, 2)
			}
			p.crop = &cut
		})
		add("tilted", func(p *plan) {
			p.arrange = func(t *thing, r *rand.Rand) {
				t.tilt, t.nod = between(r, -40, 40), between(r, -40, 40)
				t.look.quiet, t.look.tight = narrow*between(r, 1, 2), true
			}
		})
		add("blurred", func(p *plan) {
			p.blur = p.between(0.9, 1.5)
			p.arrange = func(t *thing, r *rand.Rand) { t.look.quiet, t.look.tight = narrow*between(r, 0.7, 1.5), true }
		})
	}
	return out
}

// cut ends the picture beside its code, at one of the four sides in turn.
func (p *plan) cut(img *image.Gray) *image.Gray {
	t := &p.things[0]
	corners := p.modules(*t)
	lo, hi := corners[0], corners[0]
	for _, c := range corners {
		for i := range c {
			lo[i], hi[i] = math.Min(lo[i], c[i]), math.Max(hi[i], c[i])
		}
	}
	margin := *p.crop * t.module
	r := img.Rect
	switch p.n % 4 {
	case 0:
		r.Max.X = min(int(hi[0]+margin), r.Max.X)
	case 1:
		r.Min.X = max(int(lo[0]-margin), 0)
	case 2:
		r.Max.Y = min(int(hi[1]+margin), r.Max.Y)
	case 3:
		r.Min.Y = max(int(lo[1]-margin), 0)
	}
	out := image.NewGray(image.Rect(0, 0, r.Dx(), r.Dy()))
	draw.Draw(out, out.Rect, img, r.Min, draw.Src)
	p.width, p.height = r.Dx(), r.Dy()
	t.x, t.y = t.x-float64(r.Min.X), t.y-float64(r.Min.Y)
	return out
}

// modules returns where the corners of a code are in the picture, without its quiet zone.
func (p *plan) modules(t thing) (out [4][2]float64) {
	bits, err := t.code.bits()
	if err != nil {
		return out // it has been rendered
	}
	width, height := float64(bits.GetWidth())/2, t.look.tall/2
	if t.code.Format == "qr" {
		height = float64(bits.GetHeight()) / 2
	}
	sin, cos := math.Sincos(t.angle * math.Pi / 180)
	for i, c := range [4][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
		u, v := c[0]*width*t.module, c[1]*height*t.module
		out[i] = [2]float64{t.x + u*cos - v*sin, t.y + u*sin + v*cos}
	}
	return out
}

// CutOff makes photo n of codes of which the picture's edge leaves out a part.
func CutOff(seed uint64, n int) (Photo, error) {
	formats := []string{"ean13", "upca", "ean8", "upce", "code128", "itf", "qr"}
	return Category{"cut off", n + 1, func(p *plan) {
		p.width, p.height, p.codes, p.formats, p.angle = 640, 480, 1, formats, 10
		lost := -p.between(2, 40)
		if n%7 == 6 {
			lost = -p.between(6, 12)
		}
		p.crop, p.n, p.formats = &lost, n/7%2, formats[n%7:n%7+1] // at the left or at the right
	}}.Photo(seed, n)
}
