package main

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
)

const (
	maxAngle = 20.0 // degrees
	noise    = 5.0  // standard deviation of the camera's noise, of 255
	shades   = 4    // the camera's step between brightnesses
	samples  = 3    // per pixel and direction, so that edges are soft
)

// pack is a package on the counter: a box with a printed label. Coordinates
// inside it are pixels from its middle, before it is turned.
type pack struct {
	x, y          float64 // middle
	sin, cos      float64
	width, height float64
	round         float64 // radius of the corners
	tone          float64
	stripes       float64 // height of the printed band
	module        float64 // width of a bar, in pixels
	bars          string
	barHeight     float64
	below         float64 // how far the code's middle lies below the package's
}

// photo draws packages with codes, one per cell of a grid.
func photo(codes []string, width, height int, seed uint64) (*image.Gray, error) {
	if width < 64 || height < 64 {
		return nil, fmt.Errorf("%d x %d pixels are too few; want at least 64 x 64", width, height)
	}
	random := rand.New(rand.NewPCG(seed, 0x6b6f616e))
	packs, err := arrange(codes, float64(width), float64(height), random)
	if err != nil {
		return nil, err
	}
	light := newLight(float64(width), float64(height), random)
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			tone := 0.0
			for sy := range samples {
				for sx := range samples {
					tone += toneAt(packs, float64(x)+(float64(sx)+0.5)/samples, float64(y)+(float64(sy)+0.5)/samples)
				}
			}
			tone = tone/(samples*samples)*light.at(float64(x), float64(y)) + random.NormFloat64()*noise
			img.Pix[y*img.Stride+x] = uint8(min(max(math.Round(tone/shades)*shades, 0), 255))
		}
	}
	return img, nil
}

// arrange lays the packages out.
func arrange(codes []string, width, height float64, random *rand.Rand) ([]pack, error) {
	columns := max(1, int(math.Ceil(math.Sqrt(float64(len(codes))*width/height/1.2))))
	rows := max(1, (len(codes)+columns-1)/columns)
	cellW, cellH := width/float64(columns), height/float64(rows)
	var packs []pack
	for i, code := range codes {
		bars, err := modules(code)
		if err != nil {
			return nil, err
		}
		angle := (random.Float64()*2 - 1) * maxAngle
		// A code with its quiet zones, turned, fits into its cell.
		module := min(cellW*(0.48+0.36*random.Float64())/float64(len(bars)+26), cellH/70)
		if module < 1.4 {
			return nil, fmt.Errorf("%d codes do not fit into %g x %g pixels", len(codes), width, height)
		}
		p := pack{
			x:      (float64(i%columns)+0.5)*cellW + (random.Float64()-0.5)*cellW*0.06,
			y:      (float64(i/columns)+0.5)*cellH + (random.Float64()-0.5)*cellH*0.06,
			module: module, bars: bars, barHeight: module * (34 + 14*random.Float64()),
			tone: 60 + 120*random.Float64(), round: 6 + 30*random.Float64(),
		}
		p.sin, p.cos = math.Sincos(angle * math.Pi / 180)
		p.width = module * float64(len(bars)+26)
		p.height = min(p.barHeight*(1.8+0.5*random.Float64()), cellH*0.8)
		p.below = p.height/2 - p.barHeight/2 - 7*module
		p.stripes = p.height - p.barHeight - 16*module
		packs = append(packs, p)
	}
	return packs, nil
}

// toneAt returns the brightness of a place before light falls on it.
func toneAt(packs []pack, x, y float64) float64 {
	shadow := 1.0
	for i := range packs {
		p := &packs[i]
		if t, ok := p.toneAt(x, y); ok {
			return t
		}
		if _, ok := p.toneAt(x-10, y-12); ok {
			shadow = 0.62
		}
	}
	// A wooden counter: long, slightly wavy grain.
	grain := math.Sin(y/9+2.5*math.Sin(x/310)) + 0.6*math.Sin(y/3.7+1.7*math.Sin(x/170+2))
	return (168 + 7*grain) * shadow
}

// toneAt returns the package's brightness at a place; ok is false beside it.
func (p *pack) toneAt(x, y float64) (tone float64, ok bool) {
	dx, dy := x-p.x, y-p.y
	u, v := dx*p.cos+dy*p.sin, dy*p.cos-dx*p.sin
	if !rounded(u, v, p.width/2, p.height/2, p.round) {
		return 0, false
	}
	code := float64(len(p.bars)) * p.module
	label := p.barHeight/2 + 3*p.module
	if math.Abs(u) < code/2+10*p.module && math.Abs(v-p.below) < label {
		at := (u + code/2) / p.module
		if at >= 0 && at < float64(len(p.bars)) && math.Abs(v-p.below) < p.barHeight/2 && p.bars[int(at)] == '1' {
			return 28, true
		}
		return 232, true
	}
	// Lines of print above the label.
	if top := v + p.height/2 - 5*p.module; top > 0 && top < p.stripes && math.Abs(u) < p.width*0.42 {
		line := math.Mod(top, 7*p.module)
		word := math.Sin(u/(3.1*p.module) + 5*math.Floor(top/(7*p.module)))
		if line < 3*p.module && word > -0.4 {
			return 255 - p.tone, true
		}
	}
	return p.tone, true
}

// rounded reports whether a place lies in a rectangle with round corners.
func rounded(u, v, halfWidth, halfHeight, radius float64) bool {
	dx, dy := math.Abs(u)-halfWidth+radius, math.Abs(v)-halfHeight+radius
	if dx > radius || dy > radius {
		return false
	}
	return dx <= 0 || dy <= 0 || dx*dx+dy*dy <= radius*radius
}

// light is a lamp on one side, and a window's stripe.
type light struct{ x, y, reach, stripe, angle float64 }

func newLight(width, height float64, random *rand.Rand) light {
	return light{
		x: width * (0.15 + 0.2*random.Float64()), y: height * (0.1 + 0.2*random.Float64()),
		reach: math.Hypot(width, height), stripe: width * (0.5 + 0.3*random.Float64()), angle: 0.5 + 0.4*random.Float64(),
	}
}

func (l light) at(x, y float64) float64 {
	far := math.Hypot(x-l.x, y-l.y) / l.reach
	stripe := (x - l.stripe + l.angle*y) / (0.12 * l.reach)
	return 1.06 - 0.62*far + 0.12*math.Exp(-stripe*stripe)
}
