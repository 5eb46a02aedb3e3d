package web

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"sync"
)

// icons are the pictures that phones and desktops show of the installed app, by their names, with
// their sizes in pixels. A maskable one is cut to any shape, so that it has nothing at its edges.
var icons = map[string]struct {
	size     int
	maskable bool
}{
	"icon-180.png": {180, true}, "icon-192.png": {192, false}, "icon-512.png": {512, false}, "maskable-192.png": {192, true}, "maskable-512.png": {512, true},
}

// drawnIcons are icons that were asked for. They are the same ones as icon.svg, for what reads no SVG.
var drawnIcons sync.Map

// icon serves an icon.
func icon(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	want, ok := icons[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	raw, drawn := drawnIcons.Load(name)
	if !drawn {
		var out bytes.Buffer
		if err := png.Encode(&out, drawIcon(want.size, want.maskable)); err != nil {
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
		raw, _ = drawnIcons.LoadOrStore(name, out.Bytes())
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "private, max-age=604800")
	_, _ = w.Write(raw.([]byte))
}

// box is a rectangle with round corners, in the units of icon.svg, which is 64 wide.
type box struct{ x0, y0, x1, y1, round float64 }

// holds reports whether a place is in the box.
func (b box) holds(x, y float64) bool {
	if x < b.x0 || x > b.x1 || y < b.y0 || y > b.y1 {
		return false
	}
	dx := max(b.x0+b.round-x, x-(b.x1-b.round), 0)
	dy := max(b.y0+b.round-y, y-(b.y1-b.round), 0)
	return dx*dx+dy*dy <= b.round*b.round
}

var (
	green = color.NRGBA{0x1f, 0x6b, 0x45, 0xff}
	paper = color.NRGBA{0xff, 0xfd, 0xf8, 0xff}
	// The jar of the icon, its lid, and the lines of its label, over which what comes later lies.
	jar = []struct {
		box
		colour color.NRGBA
	}{{box{20, 20, 44, 52, 4}, paper}, {box{22, 14, 42, 20, 0}, paper}, {box{24.5, 32.5, 39.5, 35.5, 1.5}, green}, {box{24.5, 39.5, 35.5, 42.5, 1.5}, green}}
)

// samples is how many places of a pixel are looked at, in each direction.
const samples = 4

func drawIcon(size int, maskable bool) image.Image {
	out := image.NewNRGBA(image.Rect(0, 0, size, size))
	ground, zoom := box{0, 0, 64, 64, 14}, 1.0
	if maskable {
		ground, zoom = box{-64, -64, 128, 128, 0}, 0.8
	}
	at := func(x, y float64) color.NRGBA {
		x, y = 32+(x-32)/zoom, 32+(y-32)/zoom
		colour := color.NRGBA{}
		if ground.holds(x, y) {
			colour = green
		}
		for _, part := range jar {
			if part.holds(x, y) {
				colour = part.colour
			}
		}
		return colour
	}
	for py := range size {
		for px := range size {
			var r, g, b, a int
			for n := range samples * samples {
				c := at((float64(px)+(float64(n%samples)+0.5)/samples)*64/float64(size), (float64(py)+(float64(n/samples)+0.5)/samples)*64/float64(size))
				r, g, b, a = r+int(c.R)*int(c.A), g+int(c.G)*int(c.A), b+int(c.B)*int(c.A), a+int(c.A)
			}
			if a > 0 {
				out.SetNRGBA(px, py, color.NRGBA{uint8(r / a), uint8(g / a), uint8(b / a), uint8(a / (samples * samples))})
			}
		}
	}
	return out
}
