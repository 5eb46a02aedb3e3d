package barcode

import (
	"cmp"
	"math"
	"slices"
)

const (
	// cell is the edge of the squares that a picture is looked at in, in pixels.
	cell = 8
	// minEnergy is the mean square of the gradient along one direction that bars
	// have at least: a contrast of some 10 of 255.
	minEnergy = 40
	// minCoherence is how much of the gradient is along one direction where there
	// are bars. Noise has some 0.05, print 0.2 to 0.6.
	minCoherence = 0.3
	// minCells is the fewest cells that a code covers.
	minCells = 8
	// minLength is shorter than the shortest code that can be read, in pixels.
	minLength = 48
	// sameDirection is the cosine of the double angle up to which neighbouring
	// cells belong together: 18 degrees.
	sameDirection = 0.81
)

// region is an upright or turned rectangle of a level that may hold linear codes:
// all its edges run across one direction.
type region struct {
	middle   point
	cos, sin float64 // the direction of reading
	long     float64 // half of the length in that direction
	across   float64 // half of the length of the bars
	energy   float64 // mean square of the gradient
}

// field is the structure tensor of each cell: the energy of the gradient, and its
// direction as a vector of the double angle.
type field struct {
	columns, rows int
	energy        []float32
	x, y          []float32
}

// newField measures the gradient with Scharr's weights: others turn the direction
// of narrow bars by more than ten degrees.
func newField(g *Gray) *field {
	f := &field{columns: g.Width / cell, rows: g.Height / cell}
	n := f.columns * f.rows
	f.energy, f.x, f.y = make([]float32, n), make([]float32, n), make([]float32, n)
	for y := 1; y < min(f.rows*cell, g.Height-1); y++ {
		above, row, below := g.Pix[(y-1)*g.Width:], g.Pix[y*g.Width:], g.Pix[(y+1)*g.Width:]
		at := y / cell * f.columns
		for column := range f.columns {
			xx, yy, xy := 0, 0, 0
			for x := max(column*cell, 1); x < min((column+1)*cell, g.Width-1); x++ {
				rising, falling := int(below[x+1])-int(above[x-1]), int(above[x+1])-int(below[x-1])
				dx := 10*(int(row[x+1])-int(row[x-1])) + 3*(rising+falling)
				dy := 10*(int(below[x])-int(above[x])) + 3*(rising-falling)
				xx += dx * dx
				yy += dy * dy
				xy += dx * dy
			}
			const weight = 1. / (16 * 16)
			f.energy[at+column] += weight * float32(xx+yy)
			f.x[at+column] += weight * float32(xx-yy)
			f.y[at+column] += weight * float32(2*xy)
		}
	}
	for _, values := range [][]float32{f.energy, f.x, f.y} {
		f.smooth(values)
	}
	return f
}

// smooth averages each cell with its neighbours.
func (f *field) smooth(values []float32) {
	row := make([]float32, f.columns)
	for y := range f.rows {
		line := values[y*f.columns : (y+1)*f.columns]
		copy(row, line)
		for x := range line {
			line[x] = (row[max(x-1, 0)] + row[x] + row[min(x+1, f.columns-1)]) / 3
		}
	}
	before := make([]float32, f.columns)
	for y := range f.rows {
		line := values[y*f.columns : (y+1)*f.columns]
		next := values[min(y+1, f.rows-1)*f.columns:]
		copy(row, line)
		if y == 0 {
			copy(before, line)
		}
		for x := range line {
			line[x] = (before[x] + row[x] + next[x]) / 3
		}
		before, row = row, before
	}
}

// maxRegions bounds the regions of a level: a table of 40 packages has some 300.
const maxRegions = 1000

// locate returns where linear codes may be, the largest regions first.
func (f *field) locate() []region {
	strong := make([]bool, len(f.energy))
	for i := range strong {
		one := math.Hypot(float64(f.x[i]), float64(f.y[i]))
		strong[i] = one > minEnergy*cell*cell && one > minCoherence*float64(f.energy[i])
	}
	var out []region
	var cells []int
	for seed := range strong {
		if !strong[seed] {
			continue
		}
		cells = f.grow(strong, seed, cells[:0])
		if len(cells) < minCells {
			continue
		}
		if r, ok := f.region(cells); ok {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b region) int { return cmp.Compare(b.long*b.across, a.long*a.across) })
	return out[:min(len(out), maxRegions)]
}

// grow collects the strong cells around a seed that have its direction, and takes
// them from strong.
func (f *field) grow(strong []bool, seed int, cells []int) []int {
	strong[seed] = false
	cells = append(cells, seed)
	sumX, sumY := f.direction(seed)
	for next := 0; next < len(cells); next++ {
		column, row := cells[next]%f.columns, cells[next]/f.columns
		for y := max(row-1, 0); y <= min(row+1, f.rows-1); y++ {
			for x := max(column-1, 0); x <= min(column+1, f.columns-1); x++ {
				i := y*f.columns + x
				if !strong[i] {
					continue
				}
				dx, dy := f.direction(i)
				if dx*sumX+dy*sumY < sameDirection*math.Hypot(sumX, sumY) {
					continue
				}
				strong[i] = false
				cells = append(cells, i)
				sumX, sumY = sumX+dx, sumY+dy
			}
		}
	}
	return cells
}

// direction returns a cell's direction as a vector of length 1, of the double angle.
func (f *field) direction(i int) (x, y float64) {
	x, y = float64(f.x[i]), float64(f.y[i])
	length := math.Hypot(x, y)
	return x / length, y / length
}

// region returns the rectangle around cells.
func (f *field) region(cells []int) (region, bool) {
	x, y, energy := 0.0, 0.0, 0.0
	for _, i := range cells {
		energy += float64(f.energy[i]) / float64(len(cells)) / (cell * cell)
		x += float64(f.x[i])
		y += float64(f.y[i])
	}
	sin, cos := math.Sincos(math.Atan2(y, x) / 2)
	minLong, maxLong, minAcross, maxAcross := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, i := range cells {
		px, py := (float64(i%f.columns)+0.5)*cell, (float64(i/f.columns)+0.5)*cell
		long, across := px*cos+py*sin, py*cos-px*sin
		minLong, maxLong = min(minLong, long), max(maxLong, long)
		minAcross, maxAcross = min(minAcross, across), max(maxAcross, across)
	}
	if maxLong-minLong+cell < minLength {
		return region{}, false
	}
	long, across := (minLong+maxLong)/2, (minAcross+maxAcross)/2
	return region{
		middle: point{long*cos - across*sin, long*sin + across*cos}, cos: cos, sin: sin,
		long: (maxLong - minLong + cell) / 2, across: (maxAcross-minAcross)/2 + cell, energy: energy,
	}, true
}
