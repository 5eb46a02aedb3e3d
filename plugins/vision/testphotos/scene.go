package testphotos

import (
	"image"
	"math"
	"math/rand/v2"
)

// thing is a package before the camera.
type thing struct {
	code   Code
	look   look
	x, y   float64 // where its code's middle is, in pixels
	module float64 // pixels per module there
	angle  float64 // degrees in the picture
	tilt   float64 // degrees away from the camera, about the picture's upright axis
	nod    float64 // degrees about the horizontal axis
	radius float64 // of a can, in modules; 0 is flat
	rings  bool    // the can's axis runs along the code, so that bars are rings
	glare  float64 // a lamp's reflection, of full white; 0 is none
}

// scene is what is before the camera, the light on it, and the camera.
type scene struct {
	width, height int
	things        []thing
	backdrop      int     // kind of table
	gradient      float64 // how much darker the far corner is, of 1
	shadow        float64 // how much a shadow takes away, of 1
	stripes       bool    // light through blinds
	exposure      float64 // 1 is right
	blur          float64 // standard deviation, in pixels
	motion        float64 // length of the hand's movement, in pixels
	direction     float64 // of the movement, degrees
	photons       float64 // per white pixel: fewer are noisier
	sharpen       float64 // what the camera adds
}

// render returns the picture's brightness as the camera stores it.
func (s *scene) render(random *rand.Rand) (*image.Gray, error) {
	light := s.table(random)
	for _, t := range s.things {
		l, err := newLabel(t.code, t.look, random)
		if err != nil {
			return nil, err
		}
		s.place(light, t, l, random)
	}
	s.illuminate(light, random)
	gaussian(light, s.width, s.height, math.Hypot(s.blur, 0.5)) // no lens is sharper than half a pixel
	if s.motion > 0 {
		light = s.smear(light)
	}
	return s.expose(light, random), nil
}

// table returns the reflectance of what lies beneath.
func (s *scene) table(random *rand.Rand) []float32 {
	base, phase := 0.2+0.5*random.Float64(), 100*random.Float64()
	sin, cos := math.Sincos(math.Pi * random.Float64())
	fine := 0.02 + 0.05*random.Float64()
	out := make([]float32, s.width*s.height)
	for y := range s.height {
		for x := range s.width {
			u, v := float64(x)*cos+float64(y)*sin+phase, float64(y)*cos-float64(x)*sin+phase
			tone := base
			switch s.backdrop % 4 {
			case 0: // wood
				tone *= 1 + 0.12*math.Sin(u/11+3*math.Sin(v/260)) + 0.08*math.Sin(u/3.3+2*math.Sin(v/140))
			case 1: // tiles
				if math.Mod(u, 190) < 6 || math.Mod(v, 190) < 6 {
					tone *= 0.5
				}
			case 2: // checked cloth
				if math.Mod(u, 44) < 22 {
					tone *= 0.7
				}
				if math.Mod(v, 44) < 22 {
					tone *= 0.75
				}
				tone *= 1 + 0.1*math.Sin(u*2.1)*math.Sin(v*2.1)
			}
			out[y*s.width+x] = float32(tone * (1 + fine*(random.Float64()-0.5)))
		}
	}
	return out
}

// pose is where a thing is: r turns its coordinates to the camera's.
type pose struct {
	r [3][3]float64
	c [3]float64 // its middle, in modules from the camera
	f float64    // focal length, in pixels
}

func (s *scene) pose(t thing) pose {
	f := 1.1 * float64(max(s.width, s.height))
	z := f / t.module
	p := pose{f: f, c: [3]float64{(t.x - float64(s.width)/2) / f * z, (t.y - float64(s.height)/2) / f * z, z}}
	sz, cz := math.Sincos(t.angle * math.Pi / 180)
	sy, cy := math.Sincos(t.tilt * math.Pi / 180)
	sx, cx := math.Sincos(t.nod * math.Pi / 180)
	// First turned in its plane, then about the upright, then about the horizontal axis.
	turn := [3][3]float64{{cz, -sz, 0}, {sz, cz, 0}, {0, 0, 1}}
	upright := [3][3]float64{{cy, 0, sy}, {0, 1, 0}, {-sy, 0, cy}}
	level := [3][3]float64{{1, 0, 0}, {0, cx, -sx}, {0, sx, cx}}
	p.r = product(level, product(upright, turn))
	return p
}

func product(a, b [3][3]float64) (out [3][3]float64) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				out[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return out
}

// meet returns where the ray through a pixel meets the thing's surface, in modules
// on its label.
func (p pose) meet(t thing, x, y, width, height float64) (u, v float64, ok bool) {
	ray := [3]float64{(x - width/2) / p.f, (y - height/2) / p.f, 1}
	var from, along [3]float64 // in the thing's coordinates
	for i := range 3 {
		for k := range 3 {
			from[i] -= p.r[k][i] * p.c[k]
			along[i] += p.r[k][i] * ray[k]
		}
	}
	if t.radius == 0 {
		if math.Abs(along[2]) < 1e-9 {
			return 0, 0, false
		}
		d := -from[2] / along[2]
		return from[0] + d*along[0], from[1] + d*along[1], true
	}
	// A cylinder that touches the plane from behind; the axis runs along v, or u.
	across := 0
	if t.rings {
		across = 1
	}
	a := along[across]*along[across] + along[2]*along[2]
	b := from[across]*along[across] + (from[2]-t.radius)*along[2]
	c := from[across]*from[across] + (from[2]-t.radius)*(from[2]-t.radius) - t.radius*t.radius
	root := b*b - a*c
	if root < 0 {
		return 0, 0, false
	}
	d := (-b - math.Sqrt(root)) / a
	round := t.radius * math.Atan2(from[across]+d*along[across], t.radius-(from[2]+d*along[2]))
	if t.rings {
		return from[0] + d*along[0], round, true
	}
	return round, from[1] + d*along[1], true
}

// place draws a thing over the picture, each pixel from several rays.
func (s *scene) place(light []float32, t thing, l *label, random *rand.Rand) {
	const rays = 3
	p := s.pose(t)
	reach := t.module * math.Hypot(float64(l.width), float64(l.height)) / resolution / 2 * 1.3
	glareU, glareV := (random.Float64()-0.5)*60, (random.Float64()-0.5)*30
	for y := max(int(t.y-reach), 0); y < min(int(t.y+reach), s.height); y++ {
		for x := max(int(t.x-reach), 0); x < min(int(t.x+reach), s.width); x++ {
			u, v, ok := p.meet(t, float64(x)+0.5, float64(y)+0.5, float64(s.width), float64(s.height))
			if ok && !l.near(u, v, 2/t.module) {
				continue
			}
			sum, hits, glare := 0.0, 0, 0.0
			for i := range rays * rays {
				u, v, ok := p.meet(t, float64(x)+(float64(i%rays)+0.5)/rays, float64(y)+(float64(i/rays)+0.5)/rays, float64(s.width), float64(s.height))
				if !ok {
					continue
				}
				if value, ok := l.at(u, v); ok {
					if t.radius > 0 { // light falls off towards a can's sides
						turn := u
						if t.rings {
							turn = v
						}
						value *= 0.35 + 0.65*math.Cos(turn/t.radius)
					}
					sum += value
					hits++
					if t.glare > 0 {
						glare += t.glare * math.Exp(-((u-glareU)*(u-glareU)/90 + (v-glareV)*(v-glareV)/40))
					}
				}
			}
			if hits > 0 {
				at := &light[y*s.width+x]
				*at = (*at*float32(rays*rays-hits) + float32(sum+glare)) / (rays * rays)
			}
		}
	}
}

// illuminate applies the light: a lamp on one side, a shadow with a soft edge,
// blinds.
func (s *scene) illuminate(light []float32, random *rand.Rand) {
	sin, cos := math.Sincos(2 * math.Pi * random.Float64())
	edgeSin, edgeCos := math.Sincos(2 * math.Pi * random.Float64())
	size := math.Hypot(float64(s.width), float64(s.height))
	offset, soft := (random.Float64()-0.5)*0.3*size, 3+20*random.Float64()
	period := 60 + 60*random.Float64()
	for y := range s.height {
		for x := range s.width {
			dx, dy := float64(x)-float64(s.width)/2, float64(y)-float64(s.height)/2
			value := 1 - s.gradient*(0.5+(dx*cos+dy*sin)/size)
			if s.shadow > 0 {
				value *= 1 - s.shadow/(1+math.Exp((dx*edgeCos+dy*edgeSin-offset)/soft))
			}
			if s.stripes {
				value *= 1 - 0.4/(1+math.Exp(-8*math.Sin((dx*edgeCos+dy*edgeSin)/period)))
			}
			light[y*s.width+x] *= float32(value)
		}
	}
}

// smear moves the picture along a line while it is taken.
func (s *scene) smear(light []float32) []float32 {
	sin, cos := math.Sincos(s.direction * math.Pi / 180)
	steps := max(int(math.Ceil(2*s.motion)), 2)
	out := make([]float32, len(light))
	for y := range s.height {
		for x := range s.width {
			sum := float32(0)
			for i := range steps {
				d := (float64(i)/float64(steps-1) - 0.5) * s.motion
				fx := min(max(float64(x)+d*cos, 0), float64(s.width-2))
				fy := min(max(float64(y)+d*sin, 0), float64(s.height-2))
				ix, iy := int(fx), int(fy)
				px, py := float32(fx-float64(ix)), float32(fy-float64(iy))
				at := iy*s.width + ix
				top := light[at]*(1-px) + light[at+1]*px
				bottom := light[at+s.width]*(1-px) + light[at+s.width+1]*px
				sum += top*(1-py) + bottom*py
			}
			out[y*s.width+x] = sum / float32(steps)
		}
	}
	return out
}

// expose counts photons, and stores the picture with the usual gamma.
func (s *scene) expose(light []float32, random *rand.Rand) *image.Gray {
	var gamma [4096]float32
	for i := range gamma {
		gamma[i] = float32(255 * math.Pow(float64(i)/float64(len(gamma)-1), 1/2.2))
	}
	stored := make([]float32, len(light))
	for i, v := range light {
		photons := s.photons * float64(v) * s.exposure
		photons += random.NormFloat64() * math.Sqrt(max(photons, 0)+4)
		stored[i] = gamma[int(min(max(photons/s.photons, 0), 1)*float64(len(gamma)-1)+0.5)]
	}
	if s.sharpen > 0 {
		soft := append([]float32(nil), stored...)
		gaussian(soft, s.width, s.height, 1)
		for i := range stored {
			stored[i] += float32(s.sharpen) * (stored[i] - soft[i])
		}
	}
	img := image.NewGray(image.Rect(0, 0, s.width, s.height))
	for i, v := range stored {
		img.Pix[i] = uint8(min(max(v+0.5, 0), 255))
	}
	return img
}

// gaussian blurs in place.
func gaussian(pix []float32, width, height int, sigma float64) {
	reach := int(math.Ceil(2.6 * sigma))
	kernel := make([]float32, 2*reach+1)
	sum := float32(0)
	for i := range kernel {
		d := float64(i - reach)
		kernel[i] = float32(math.Exp(-d * d / (2 * sigma * sigma)))
		sum += kernel[i]
	}
	for i := range kernel {
		kernel[i] /= sum
	}
	line := make([]float32, width+2*reach)
	for y := range height {
		row := pix[y*width : (y+1)*width]
		copy(line[reach:], row)
		for i := range reach {
			line[i], line[width+reach+i] = row[0], row[width-1]
		}
		for x := range row {
			v := float32(0)
			for i, k := range kernel {
				v += k * line[x+i]
			}
			row[x] = v
		}
	}
	rows := make([]float32, width*height)
	for y := range height {
		out := rows[y*width : (y+1)*width]
		for i, k := range kernel {
			from := min(max(y+i-reach, 0), height-1)
			for x, v := range pix[from*width : (from+1)*width] {
				out[x] += k * v
			}
		}
	}
	copy(pix, rows)
}
