package testphotos

import (
	"image"
	"math"
	"math/rand/v2"
)

// Noise makes a picture without any code, number n of a kind that changes from
// number to number: grain of all sizes, stripes of random width, bars beside bars
// with light around them, print, checks, waves, and tables seen by the camera.
func Noise(seed uint64, n int) *image.Gray {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	const width, height = 480, 360
	s := scene{
		width: width, height: height, backdrop: n, gradient: 0.4 * random.Float64(), shadow: 0.5 * random.Float64(), exposure: 1,
		blur: 0.3 + random.Float64(), photons: 80 + 1000*random.Float64(), sharpen: random.Float64(),
	}
	var light []float32
	switch n % 7 {
	case 0:
		light = grain(width, height, 1+random.Float64()*random.Float64()*14, random)
	case 1:
		light = bars(width, height, random, false)
	case 2:
		light = bars(width, height, random, true)
	case 3: // print without a code
		l := &label{width: width, height: height, values: make([]float32, width*height)}
		for i := range l.values {
			l.values[i] = 0.7
		}
		l.printText(random, 0.7)
		light = l.values
	case 4:
		size, turn := 2+8*random.Float64(), math.Pi*random.Float64()
		light = make([]float32, width*height)
		sin, cos := math.Sincos(turn)
		for i := range light {
			x, y := float64(i%width), float64(i/width)
			if (int(math.Floor((x*cos+y*sin)/size))+int(math.Floor((y*cos-x*sin)/size)))%2 == 0 {
				light[i] = 0.7
			}
		}
	case 5:
		light = make([]float32, width*height)
		fx, fy, bend := random.Float64(), random.Float64(), random.Float64()/200
		for i := range light {
			x, y := float64(i%width), float64(i/width)
			light[i] = float32(0.4 + 0.35*math.Sin(fx*x+fy*y+bend*x*y))
		}
	default:
		light = s.table(random)
	}
	s.illuminate(light, random)
	gaussian(light, width, height, s.blur)
	return s.expose(light, random)
}

// grain is random spots.
func grain(width, height int, size float64, random *rand.Rand) []float32 {
	out := make([]float32, width*height)
	for i := range out {
		out[i] = float32(random.NormFloat64())
	}
	if size > 1.2 {
		gaussian(out, width, height, size/2)
	}
	for i, v := range out {
		out[i] = float32(min(max(0.45+0.25*float64(v)*size, 0.02), 0.95))
	}
	return out
}

// bars is random bars of 1 to 4 units over the picture, or blocks of them that have
// the widths and the quiet zones of codes.
func bars(width, height int, random *rand.Rand, blocks bool) []float32 {
	out := make([]float32, width*height)
	unit, turn := 1.5+2.5*random.Float64(), math.Pi*random.Float64()
	n := 400
	if blocks {
		n, turn = []int{59, 43, 33, 77, 55, 61}[random.IntN(6)], turn/8
	}
	edges := []float64{0}
	for range n {
		edges = append(edges, edges[len(edges)-1]+unit*float64(1+random.IntN(4)))
	}
	length := edges[len(edges)-1]
	sin, cos := math.Sincos(turn)
	for i := range out {
		x, y := float64(i%width)-float64(width)/2, float64(i/width)-float64(height)/2
		u, v := x*cos+y*sin+length/2, y*cos-x*sin
		out[i] = 0.75
		if blocks && math.Abs(v) > 25*unit || u < 0 || u >= length {
			continue
		}
		lo, hi := 0, len(edges)-1
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; edges[mid] <= u {
				lo = mid
			} else {
				hi = mid
			}
		}
		if lo%2 == 0 {
			out[i] = 0.05
		}
	}
	return out
}
