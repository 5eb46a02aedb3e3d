package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// An unknown code stays open until somebody says what it is, and then it is in the house.
func TestUnknownCodeIsNoDeadEnd(t *testing.T) {
	t.Parallel()
	k := open(t)
	photo := k.sample("haul.png")
	k.Action("haul", map[string]any{"photo": photo}, nil)
	require.Equal(t, 1, value[int](k, `SDK.Entities.Detection.count({status: "open"})`))
	var again struct {
		Again bool
		Open  []struct{ Code string }
	}
	k.Action("haul", map[string]any{"photo": photo}, &again)
	require.True(t, again.Again)
	require.Equal(t, "2000000000992", again.Open[0].Code, "it is still named")
	var learned struct {
		Resolved int
		Lots     []struct {
			Name   string
			Amount float64
		}
	}
	k.Action("learn-product", map[string]any{"code": "2000000000992", "food": "penne", "packageAmount": 500, "packageUnit": "g"}, &learned)
	require.Equal(t, 1, learned.Resolved)
	require.Equal(t, 500.0, learned.Lots[0].Amount)
	k.Action("learn-product", map[string]any{"code": "2000000000992", "food": "penne", "packageAmount": 500, "packageUnit": "g"}, &learned)
	require.Zero(t, learned.Resolved, "once is enough")
	require.Equal(t, 1, value[int](k, `SDK.Entities.Product.count({barcodes: {$has: "2000000000992"}})`))
}

// Whatever a photo shows as a code can be learned, though no product's number looks like it; what none
// shows has to be one.
func TestAnyCodeOfAPhotoCanBeLearned(t *testing.T) {
	t.Parallel()
	k := open(t)
	for kind, code := range map[string]string{"itf": "12000000000992", "code128": "LOT 7/b", "qr": "https://example.com/jam?batch=7\n" + strings.Repeat("ü", 500), "short": "123", "digits": "2000000000993", "twelve": "200000000099"} {
		learn := `SDK.Actions.learnProduct({code: SDK.args, food: "jam", name: "Jam " + SDK.args.length, packageAmount: 340, packageUnit: "g"})`
		in := koantest.Input{Args: code}
		if kind != "itf" {
			require.False(t, k.Try(learn, in).Success, "no photo shows it")
		}
		k.Run(`const photo = SDK.Entities.PantryPhoto.upsert({fileName: "a.png", sha256: "`+fmt.Sprintf("%064x", len(code))+`", width: 1, height: 1});
			SDK.Entities.Detection.upsert({photoId: photo.id, kind: "`+kind+`", value: SDK.args, confidence: 1})`, in)
		r := k.Run(`(l => [l.resolved, l.lots[0].amount, SDK.Entities.Product.getById(l.productId).barcodes[0] === SDK.args])(`+learn+`)`, in)
		require.JSONEq(t, `[1, 340, true]`, string(r.Result), kind)
		r = k.Run(learn+`.resolved`, in)
		require.JSONEq(t, `0`, string(r.Result), "once is enough")
	}
	require.Zero(t, value[int](k, `SDK.Entities.Detection.count({status: "open"})`))
}

func TestPhotosThatAreNone(t *testing.T) {
	t.Parallel()
	k := open(t)
	var large bytes.Buffer
	require.NoError(t, png.Encode(&large, image.NewPaletted(image.Rect(0, 0, 8192, 6144), color.Palette{color.White})))
	require.NoError(t, os.WriteFile(filepath.Join(k.photos, "large.png"), large.Bytes(), 0o600))
	for photo, want := range map[string]fault.Code{"large.png": fault.InvalidPayload, k.sample("broken.png"): fault.InvalidPayload, "none.png": fault.NotFound, "../secret.png": fault.InvalidPayload} {
		_, err := k.TryAction("haul", map[string]any{"photo": photo})
		require.Error(t, err, photo)
		require.Equal(t, want, fault.CodeOf(err), "%s: %v", photo, err)
		require.NotContains(t, fault.From(err).Message+fault.From(err).Hint, "defect")
	}
	require.Zero(t, value[int](k, `SDK.Entities.PantryPhoto.count()`))
	var out struct{ Summary string }
	k.Action("haul", map[string]any{"photo": k.sample("empty.png")}, &out)
	require.Contains(t, out.Summary, "No barcode")
}
