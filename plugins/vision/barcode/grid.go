package barcode

import (
	"math"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
)

// grid is where the modules of a QR code are in a level: three corners, and how the
// code is bent between them. It is fitted to the patterns that each code has.
type grid struct {
	modules int // along an edge
	bend    bend
	known   []known
	values  []float64 // of the known modules, as they were looked at last
}

// bend is what a grid is fitted by. The middles of the three patterns, what the
// fourth corner is off a parallelogram by, and for both directions by how much
// modules grow along the code and towards its middle, and how far its lines are
// bowed. All but the places are shares of the code.
type bend [14]float64

const (
	topLeftX = iota
	topLeftY
	rightX
	rightY
	downX
	downY
	cornerX
	cornerY
	growRight
	growDown
	roundRight
	roundDown
	bowRight
	bowDown
)

// known is a module that every code of a size has.
type known struct {
	u, v  float64
	light float64 // 1, or -1 where it is dark
}

// grids keeps the known modules of each size.
type grids map[int][]known

// over lays a grid of a size over a triangle.
func (all grids) over(t triangle, modules int) *grid {
	if all[modules] == nil {
		all[modules] = knownOf(modules)
	}
	g := &grid{modules: modules, known: all[modules], values: make([]float64, len(all[modules]))}
	g.bend[topLeftX], g.bend[topLeftY] = t.topLeft.at.x, t.topLeft.at.y
	g.bend[rightX], g.bend[rightY] = t.topRight.at.x-t.topLeft.at.x, t.topRight.at.y-t.topLeft.at.y
	g.bend[downX], g.bend[downY] = t.bottomLeft.at.x-t.topLeft.at.x, t.bottomLeft.at.y-t.topLeft.at.y
	return g
}

// knownOf returns the modules of the two dotted lines, of the patterns in three corners,
// and of the one near the fourth.
func knownOf(modules int) []known {
	var out []known
	add := func(u, v int, dark bool) {
		k := known{u: float64(u) + 0.5, v: float64(v) + 0.5, light: 1}
		if dark {
			k.light = -1
		}
		out = append(out, k)
	}
	ring := func(u, v, reach, light int) {
		for y := -reach; y <= reach; y++ {
			for x := -reach; x <= reach; x++ {
				if u+x < 0 || v+y < 0 || u+x >= modules || v+y >= modules {
					continue
				}
				far := max(x, -x, y, -y)
				add(u+x, v+y, far != light && far != 4)
			}
		}
	}
	for i := 8; i < modules-8; i++ {
		add(i, 6, i%2 == 0)
		add(6, i, i%2 == 0)
	}
	ring(3, 3, 4, 2)
	ring(modules-4, 3, 4, 2)
	ring(3, modules-4, 4, 2)
	if modules > 21 {
		ring(modules-7, modules-7, 2, 1)
	}
	return out
}

// place returns where a place of the code is, in modules from its upper left corner.
func (b *bend) place(modules int, u, v float64) point {
	s, t := (u-3.5)/float64(modules-7), (v-3.5)/float64(modules-7)
	right, down := s*(1-s), t*(1-t)
	x := s + b[growRight]*right + b[roundRight]*right*(1-2*s) + b[bowDown]*down
	y := t + b[growDown]*down + b[roundDown]*down*(1-2*t) + b[bowRight]*right
	return point{
		b[topLeftX] + x*b[rightX] + y*b[downX] + s*t*b[cornerX],
		b[topLeftY] + x*b[rightY] + y*b[downY] + s*t*b[cornerY],
	}
}

// clamped returns the brightness at a place; beside the picture it is that of its rim.
func (g *Gray) clamped(p point) float64 {
	return g.between(min(max(p.x, 0), float64(g.Width)-1.001), min(max(p.y, 0), float64(g.Height)-1.001))
}

// score returns by how much lighter the known light modules are than the dark ones,
// and the share of them that are on their side of the middle between the two.
func (g *grid) score(picture *Gray, b *bend, all []known) (contrast, share float64) {
	var sum, count [2]float64
	for i, k := range all {
		g.values[i] = picture.clamped(b.place(g.modules, k.u, k.v))
		side := int(k.light+1) / 2
		sum[side] += g.values[i]
		count[side]++
	}
	light, dark := sum[1]/count[1], sum[0]/count[0]
	right := 0
	for i, k := range all {
		if (g.values[i]-(light+dark)/2)*k.light*(light-dark) > 0 {
			right++
		}
	}
	return light - dark, float64(right) / float64(len(all))
}

// fit moves and bends the grid until no small step makes its known modules differ more.
func (g *grid) fit(picture *Gray, inverted bool, sizes ...float64) float64 {
	sign := 1.0
	if inverted {
		sign = -1
	}
	module := math.Hypot(g.bend[rightX], g.bend[rightY]) / float64(g.modules-7)
	contrast, share := g.score(picture, &g.bend, g.known)
	best := sign * contrast
	for _, size := range sizes {
		for range 3 {
			better := false
			for i := range g.bend {
				step := size * module * 0.7
				if i >= growRight {
					step = size * 3 / float64(g.modules-7)
				} else if i >= cornerX {
					step = size * module * 2
				}
				for _, by := range [2]float64{step, -step} {
					tried := g.bend
					tried[i] += by
					if c, s := g.score(picture, &tried, g.known); sign*c > best {
						best, share, g.bend, better = sign*c, s, tried, true
						break
					}
				}
			}
			if !better {
				break
			}
		}
	}
	return share
}

// sample returns the brightness of all modules, row by row; in a code of light on
// dark the other way round.
func (g *grid) sample(picture *Gray, inverted bool) []float64 {
	out := make([]float64, g.modules*g.modules)
	for v := range g.modules {
		for u := range g.modules {
			sum := 0.0
			for i := range 4 {
				sum += picture.clamped(g.bend.place(g.modules, float64(u)+0.38+0.24*float64(i%2), float64(v)+0.38+0.24*float64(i/2)))
			}
			if inverted {
				sum = 4*255 - sum
			}
			out[v*g.modules+u] = sum / 4
		}
	}
	return out
}

// dark returns which modules are dark: those darker than the mean around them. Before that
// each is sharpened, since blur mixes it with its neighbours.
func (g *grid) dark(values []float64, sharper float64) *gozxing.BitMatrix {
	n := g.modules
	at := func(u, v int) float64 { return values[min(max(v, 0), n-1)*n+min(max(u, 0), n-1)] }
	sharp := make([]float64, len(values))
	for v := range n {
		for u := range n {
			around := (at(u-1, v) + at(u+1, v) + at(u, v-1) + at(u, v+1)) / 4
			sharp[v*n+u] = at(u, v) + sharper*(at(u, v)-around)
		}
	}
	bits, err := gozxing.NewSquareBitMatrix(n)
	if err != nil {
		panic("barcode: " + err.Error()) // n is 21 at least
	}
	const reach = 5
	for v := range n {
		for u := range n {
			sum, count := 0.0, 0.0
			for y := max(v-reach, 0); y <= min(v+reach, n-1); y++ {
				for x := max(u-reach, 0); x <= min(u+reach, n-1); x++ {
					sum += sharp[y*n+x]
					count++
				}
			}
			if sharp[v*n+u] < sum/count {
				bits.Set(u, v)
			}
		}
	}
	return bits
}

// right returns the share of the known modules that are as they must be.
func (g *grid) right(bits *gozxing.BitMatrix) float64 {
	n := 0
	for _, k := range g.known {
		if bits.Get(int(k.u), int(k.v)) == (k.light < 0) {
			n++
		}
	}
	return float64(n) / float64(len(g.known))
}

const (
	// minRight is the share of the known modules that must be right for a grid to be
	// decoded. Half of them are by chance.
	minRight = 0.84
	// minLaid and minMoved are those of a grid that has only been laid, and only been
	// moved, and minDots of the dotted lines alone: less is not worth the time.
	minDots  = 0.6
	minLaid  = 0.6
	minMoved = 0.72
)

// sizes returns how many modules the code of a triangle may have along an edge, the
// likeliest first.
func (t triangle) sizes() []int {
	apart := (t.topLeft.at.to(t.topRight.at) + t.topLeft.at.to(t.bottomLeft.at)) / 2 / t.module
	version := int(math.Round((apart + 7 - 17) / 4))
	var out []int
	for _, v := range [3]int{version, version - 1, version + 1} {
		if v >= 1 && v <= 40 {
			out = append(out, 17+4*v)
		}
	}
	return out
}

// read decodes the code at a triangle. close says that a grid of some size nearly fits.
func (t triangle) read(l level, all grids) (d Detection, close, ok bool) {
	inverted := t.topLeft.inverted
	for _, n := range t.sizes() {
		g := all.over(t, n)
		if _, dots := g.score(l.Gray, &g.bend, g.known[:2*(n-16)]); dots < minDots {
			continue
		}
		if g.fit(l.Gray, inverted) < minLaid || g.fit(l.Gray, inverted, 1) < minMoved {
			continue
		}
		close = true
		g.fit(l.Gray, inverted, 0.5, 0.25, 0.5, 0.12)
		values := g.sample(l.Gray, inverted)
		for _, sharper := range [5]float64{0.4, 0, 0.8, 1.2, 2} {
			bits := g.dark(values, sharper)
			if g.right(bits) < minRight {
				break
			}
			decoded, err := decoder.NewDecoder().Decode(bits, nil)
			if err == nil && decoded.GetText() != "" {
				return newQR(decoded.GetText(), decoded.GetSymbologyModifier() > 2, g.box(float64(l.scale))), true, true
			}
		}
	}
	return Detection{}, close, false
}

// box returns the box of the code in the picture.
func (g *grid) box(scale float64) Box {
	var corners []point
	n := float64(g.modules)
	for _, at := range [4][2]float64{{0, 0}, {0, n}, {n, 0}, {n, n}} {
		p := g.bend.place(g.modules, at[0], at[1])
		corners = append(corners, point{math.Round((p.x + 0.5) * scale), math.Round((p.y + 0.5) * scale)})
	}
	return bounds(corners)
}
