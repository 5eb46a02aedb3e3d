package barcode

import (
	"context"
	"math"
)

// firstPass reads most codes.
var firstPass = []pass{
	{thickness: 3, lines: 32, sharpness: []sharpening{{}, {1, 3}, {1.6, 5}}},
}

// secondPass is for what the first one does not read: blurred and noisy codes, for
// which lines average more pixels and are made sharper, and those whose bars do
// not run quite across the region's direction.
var secondPass = []pass{
	{thickness: 9, lines: 16, sharpness: []sharpening{{1.2, 6}, {1.6, 12}, {2, 16}, {2.4, 25}, {2.8, 30}}},
	{thickness: 15, lines: 10, sharpness: []sharpening{{}, {1, 3}, {1.6, 5}}, pale: true},
	{angle: radians(3), thickness: 3, lines: 12, sharpness: []sharpening{{1, 3}, {1.6, 6}, {2.2, 8}}},
	{angle: radians(-3), thickness: 3, lines: 12, sharpness: []sharpening{{1, 3}, {1.6, 6}, {2.2, 8}}},
	{angle: radians(7), thickness: 2, lines: 12, sharpness: []sharpening{{1, 3}, {1.6, 6}}},
	{angle: radians(-7), thickness: 2, lines: 12, sharpness: []sharpening{{1, 3}, {1.6, 6}}},
}

// maxPale is the most energy that a region has whose bars are little darker than the
// spaces between them.
const maxPale = 200

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

// maxLeft bounds the regions that the second pass looks at, the largest first: it
// takes long, and most of what is left is print.
const maxLeft = 200

// readLinear finds the linear codes of a picture, from its full size down: a large
// code that is blurred is read in a smaller picture.
func readLinear(ctx context.Context, levels []level) ([]Detection, error) {
	var all []read
	var found []Detection
	for _, l := range levels {
		regions := l.field.locate()
		for _, passes := range [][]pass{firstPass, secondPass} {
			var jobs []job
			for _, r := range regions {
				if r.covered(found, l.scale) {
					continue // read in a larger picture
				}
				for _, p := range passes {
					if p.pale && r.energy > maxPale {
						continue
					}
					jobs = append(jobs, job{l, r, p})
				}
			}
			reads, err := scan(ctx, jobs)
			if err != nil {
				return nil, err
			}
			all = append(all, reads...)
			found = confirm(all)
			left := regions[:0:0]
			for _, r := range regions {
				if !r.covered(found, l.scale) {
					left = append(left, r)
				}
			}
			regions = left[:min(len(left), maxLeft)]
		}
	}
	return found, nil
}

// covered reports whether what has been found lies over most of the region.
func (r region) covered(found []Detection, scale int) bool {
	const steps = 8
	inside := 0
	for i := range steps * steps {
		long, across := (float64(i%steps)+0.5)/steps*2-1, (float64(i/steps)+0.5)/steps*2-1
		x := (r.middle.x + long*r.long*r.cos - across*r.across*r.sin) * float64(scale)
		y := (r.middle.y + long*r.long*r.sin + across*r.across*r.cos) * float64(scale)
		for _, d := range found {
			if x >= float64(d.Box.X) && x <= float64(d.Box.X+d.Box.Width) && y >= float64(d.Box.Y) && y <= float64(d.Box.Y+d.Box.Height) {
				inside++
				break
			}
		}
	}
	return inside*2 > steps*steps
}
