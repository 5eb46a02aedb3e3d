// Package barcode finds the barcodes in a picture: EAN-13, EAN-8, UPC-A, UPC-E,
// Code 128 and ITF at any angle, and QR codes, dark on light and light on dark.
//
// Linear codes are read in three steps. Regions whose edges all run one way are
// located by the gradient. Lines are read across their bars, in the picture's full
// size, and each line is decoded as it is and made sharper in several ways. A code
// counts only when several lines over one place agree, so that noise and parts of
// other codes do not. Codes that are not read then are looked for in smaller pictures.
//
// QR codes are found by the patterns in their corners, turned upright and enlarged;
// a library decodes them, and their error correction confirms them.
//
// What belongs here: pixels to codes. Not here: where a picture comes
// from, and what a code means.
package barcode

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Format is the kind of a code.
type Format string

const (
	EAN13   Format = "ean13"
	UPCA    Format = "upca" // its value has 13 digits, the first is 0
	EAN8    Format = "ean8"
	UPCE    Format = "upce" // its value is that of the UPC-A code it is short for
	Code128 Format = "code128"
	ITF     Format = "itf" // of 14 digits
	QR      Format = "qr"
)

// Box is an upright rectangle in pixels of the picture, from its upper left
// corner. It holds the bars that were read.
type Box struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Detection is one code in a picture.
type Detection struct {
	Format Format
	Value  string
	// Text is what the code holds, where Value is a part of it or follows from it.
	Text string
	// Confidence is the share of the reads over the code's place that agree, in
	// (0, 1].
	Confidence float64
	Box        Box
	// Reads is how many reads agree.
	Reads int
}

// Detect finds the codes of a picture, from top to bottom, then left to right.
// It is deterministic. The error is the context's.
func Detect(ctx context.Context, picture *Gray) ([]Detection, error) {
	levels := pyramid(picture)
	found, err := readLinear(ctx, levels)
	if err != nil {
		return nil, err
	}
	codes, err := readQR(ctx, levels)
	if err != nil {
		return nil, err
	}
	found = append(found, codes...)
	for i := range found {
		found[i].Box = clip(found[i].Box, picture.Width, picture.Height)
	}
	slices.SortFunc(found, func(a, b Detection) int {
		return cmp.Or(cmp.Compare(a.Box.Y, b.Box.Y), cmp.Compare(a.Box.X, b.Box.X), cmp.Compare(a.Value, b.Value))
	})
	return found, nil
}

func clip(b Box, width, height int) Box {
	x, y := max(b.X, 0), max(b.Y, 0)
	return Box{X: x, Y: y, Width: min(b.X+b.Width, width) - x, Height: min(b.Y+b.Height, height) - y}
}

// point is a place in the picture, in its pixels.
type point struct{ x, y float64 }

func (p point) to(q point) float64 { return math.Hypot(q.x-p.x, q.y-p.y) }

// bounds returns the box around points.
func bounds(points []point) Box {
	minX, minY := math.Inf(1), math.Inf(1)
	maxX, maxY := math.Inf(-1), math.Inf(-1)
	for _, p := range points {
		minX, maxX = min(minX, p.x), max(maxX, p.x)
		minY, maxY = min(minY, p.y), max(maxY, p.y)
	}
	x, y := int(math.Floor(minX)), int(math.Floor(minY))
	return Box{X: x, Y: y, Width: int(math.Ceil(maxX)) - x, Height: int(math.Ceil(maxY)) - y}
}
