package web

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"net/http"
	"slices"

	scale "golang.org/x/image/draw"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/vision/barcode"
)

// pictureSide is how many pixels the longer side of a recipe's photo has at most: a grid of a hundred
// recipes is looked at on a phone.
const pictureSide = 1000

// pictureQuality is that of its JPEG.
const pictureQuality = 82

// photographRecipe keeps a photo of a dish, or takes it off. What a camera notes beside the picture,
// such as where it was taken, is not kept.
func photographRecipe(v *visit) (done, error) {
	id := v.PathValue("id")
	to := "/recipes/" + id
	caller := principal(v.Context())
	store, err := v.site.app.Files(caller, "create")
	if err != nil {
		return done{}, err
	}
	if v.PostForm.Get("do") == "remove" {
		run, err := v.patch("Recipe", id, map[string]any{"photo": nil})
		return done{to, "changed", run}, err
	}
	if _, err := row[recipeHead](v, "Recipe", id); err != nil {
		return done{}, err
	}
	v.Body = http.MaxBytesReader(v.w, v.Body, store.MaxBytes()+maxForm)
	sent, err := photoOf(v)
	if err != nil {
		return done{}, err
	}
	small, err := smaller(v.day, sent)
	if err != nil {
		return done{}, err
	}
	kept, err := store.Put(v.Context(), framework.Upload{Name: id + ".jpg", Type: "image/jpeg", Set: defaultSet, Owner: caller.Subject, Body: bytes.NewReader(small)})
	if err != nil {
		return done{}, err
	}
	run, err := v.patch("Recipe", id, map[string]any{"photo": kept.ID})
	return done{to, "changed", run}, err
}

// photoOf reads the photo of a form.
func photoOf(v *visit) ([]byte, error) {
	file, _, err := v.FormFile("photo")
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, unreadable(v, err)
	case err != nil:
		return nil, v.refuse("fault.noPhoto").WithHint("%s", v.day.t("hint.takeOne")).WithPath("/photo")
	}
	defer file.Close()
	return io.ReadAll(file)
}

// smaller is a photo as a page shows it: upright, and no larger than that.
func smaller(d day, file []byte) ([]byte, error) {
	img, err := barcode.Unpack(file)
	if err != nil {
		f := fault.New(fault.InvalidPayload, d.t("fault.photo", d.says(err.Error()))).WithPath("/photo").Because(err)
		if errors.Is(err, barcode.ErrTooLarge) {
			return nil, f.WithHint("%s", d.t("hint.smaller"))
		}
		return nil, f.WithHint("%s", d.t("hint.formats"))
	}
	size := img.Bounds().Size()
	by := min(1, float64(pictureSide)/float64(max(size.X, size.Y)))
	small := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*by)), max(1, int(float64(size.Y)*by))))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	scale.ApproxBiLinear.Scale(small, small.Bounds(), img, img.Bounds(), draw.Over, nil)
	var out bytes.Buffer
	err = jpeg.Encode(&out, upright(small, barcode.Orientation(file)), &jpeg.Options{Quality: pictureQuality})
	return out.Bytes(), err
}

// upright turns a picture as EXIF numbers it.
func upright(img *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return img
	}
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	from := func(x, y int) (int, int) { return x, y }
	switch orientation {
	case 2:
		from = func(x, y int) (int, int) { return w - 1 - x, y }
	case 3:
		from = func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }
	case 4:
		from = func(x, y int) (int, int) { return x, h - 1 - y }
	case 5:
		from = func(x, y int) (int, int) { return y, x }
	case 6:
		from = func(x, y int) (int, int) { return y, h - 1 - x }
	case 7:
		from = func(x, y int) (int, int) { return w - 1 - y, h - 1 - x }
	case 8:
		from = func(x, y int) (int, int) { return w - 1 - y, x }
	}
	shown := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		shown = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(shown)
	for y := range shown.Dy() {
		for x := range shown.Dx() {
			out.SetRGBA(x, y, img.RGBAAt(from(x, y)))
		}
	}
	return out
}

// shownTypes are the types of photos that every browser shows. The page itself keeps JPEG alone; others come by the API.
var shownTypes = []string{"image/jpeg", "image/png", "image/webp"}

// photographed serves the photo of a recipe, and reports false where there is none any more.
func photographed(v *visit, id string) bool {
	caller := principal(v.Context())
	store, err := v.site.app.Files(caller, "get")
	if err != nil {
		return false
	}
	body, f, err := store.Open(v.Context(), caller, id)
	if err != nil {
		return false
	}
	defer body.Close()
	if !slices.Contains(shownTypes, f.Type) { // what another program has put there
		return false
	}
	v.w.Header().Set("Content-Type", f.Type)
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	v.w.Header().Set("Cache-Control", pictureKept(v.Request))
	_, err = io.Copy(v.w, body)
	return err == nil
}
