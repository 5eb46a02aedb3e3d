package barcode

import "image"

// Gray is a picture's brightness, row by row, 0 is black.
type Gray struct {
	Width  int
	Height int
	Pix    []byte
}

// FromImage takes the brightness of a picture. What is transparent is white.
func FromImage(img image.Image) *Gray {
	b := img.Bounds()
	g := &Gray{Width: b.Dx(), Height: b.Dy(), Pix: make([]byte, b.Dx()*b.Dy())}
	for y := range g.Height {
		row := g.Pix[y*g.Width : (y+1)*g.Width]
		switch src := img.(type) {
		case *image.Gray:
			copy(row, src.Pix[src.PixOffset(b.Min.X, b.Min.Y+y):])
		case *image.YCbCr:
			copy(row, src.Y[src.YOffset(b.Min.X, b.Min.Y+y):])
		case *image.NRGBA:
			for x, at := 0, src.PixOffset(b.Min.X, b.Min.Y+y); x < len(row); x, at = x+1, at+4 {
				p := src.Pix[at : at+4 : at+4]
				bright, alpha := 299*int(p[0])+587*int(p[1])+114*int(p[2]), int(p[3])
				row[x] = byte((bright*alpha/1000 + 255*(255-alpha)) / 255)
			}
		case *image.RGBA:
			for x, at := 0, src.PixOffset(b.Min.X, b.Min.Y+y); x < len(row); x, at = x+1, at+4 {
				p := src.Pix[at : at+4 : at+4]
				row[x] = byte(min((299*int(p[0])+587*int(p[1])+114*int(p[2]))/1000+255-int(p[3]), 255))
			}
		default:
			for x := range row {
				r, g, bl, a := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
				row[x] = byte(((19595*r+38470*g+7471*bl)>>16 + 0xffff - a) >> 8)
			}
		}
	}
	return g
}

// level is the picture in one size. scale is how many pixels of the picture one
// of its pixels stands for, along an edge.
type level struct {
	*Gray
	scale int
	field *field
}

// shortest edge worth a level of its own.
const shortest = 160

// pyramid returns the picture in several sizes, each half of the one before: bars
// are read best when they are 2 to 8 pixels wide.
func pyramid(g *Gray) []level {
	out := []level{{g, 1, newField(g)}}
	for {
		last := out[len(out)-1]
		if min(last.Width, last.Height)/2 < shortest {
			return out
		}
		half := shrink(last.Gray, 2)
		out = append(out, level{half, 2 * last.scale, newField(half)})
	}
}

// shrink makes a picture smaller by averaging squares of n pixels' edge.
func shrink(g *Gray, n int) *Gray {
	if n <= 1 {
		return g
	}
	out := &Gray{Width: max(g.Width/n, 1), Height: max(g.Height/n, 1)}
	out.Pix = make([]byte, out.Width*out.Height)
	for y := range out.Height {
		for x := range out.Width {
			sum, count := 0, 0
			for v := y * n; v < min((y+1)*n, g.Height); v++ {
				for _, p := range g.Pix[v*g.Width+x*n : v*g.Width+min((x+1)*n, g.Width)] {
					sum += int(p)
					count++
				}
			}
			out.Pix[y*out.Width+x] = byte(sum / count)
		}
	}
	return out
}
