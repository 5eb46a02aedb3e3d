// Command makephoto draws the photos that the sample and its tests read: packages
// with barcodes on a kitchen counter, in uneven light, with a camera's noise. It
// replaces a camera; nobody's kitchen is in the repository.
//
//	go run ./sample-pantrypal/cmd/makephoto -out haul.png -codes 2000000000039,...
//
// A code of 13 digits is drawn as EAN-13, one of 12 as UPC-A, one of 8 as EAN-8.
// The same arguments make the same file, byte for byte. -keep writes only the
// first bytes of it, which is a broken file.
//
//	go run ./sample-pantrypal/cmd/makephoto -series DIR
//
// writes the 60 photos that the barcode reader is measured by, and truth.json, which
// says what they show.
package main

// haul.png holds the sample's products 3, 7, 12, 18 and 25, and number 99, which
// is not a product.
//go:generate go run . -seed 7 -codes 2000000000039,2000000000992,2000000000077,2000000000121,2000000000183,2000000000251 -out ../../testdata/haul.png
//go:generate go run . -width 800 -height 600 -out ../../testdata/empty.png
//go:generate go run . -width 800 -height 600 -codes 2000000000039 -keep 20000 -out ../../testdata/broken.png

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/koan-go/koan/plugins/vision/testphotos"
)

func main() {
	out := flag.String("out", "", "the PNG file to write")
	codes := flag.String("codes", "", "codes, separated by commas; without codes the counter is empty")
	width := flag.Int("width", 1600, "in pixels")
	height := flag.Int("height", 1200, "in pixels")
	seed := flag.Uint64("seed", 1, "another seed makes another photo of the same codes")
	keep := flag.Int("keep", 0, "bytes to keep of the file; 0 keeps all")
	series := flag.String("series", "", "a folder to write the 60 photos of the barcode reader's tests to")
	flag.Parse()
	if *series != "" && *out == "" && flag.NArg() == 0 {
		if err := writeSeries(*series, *seed, math.MaxInt); err != nil {
			fmt.Fprintln(os.Stderr, "makephoto:", err)
			os.Exit(1)
		}
		return
	}
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*out, split(*codes), *width, *height, *keep, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "makephoto:", err)
		os.Exit(1)
	}
}

func split(codes string) []string {
	return strings.FieldsFunc(codes, func(r rune) bool { return r == ',' || r == ' ' })
}

func write(path string, codes []string, width, height, keep int, seed uint64) error {
	img, err := photo(codes, width, height, seed)
	if err != nil {
		return err
	}
	file, err := encode(img)
	if err != nil {
		return err
	}
	if keep > 0 && keep < len(file) {
		file = file[:keep]
	}
	return os.WriteFile(path, file, 0o644)
}

// shown is what truth.json says of a photo.
type shown struct {
	Category string            `json:"category"`
	Codes    []testphotos.Code `json:"codes"`
}

// errEnough ends a series early.
var errEnough = errors.New("enough")

// writeSeries writes the first n photos of a series.
func writeSeries(dir string, seed uint64, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	truth := map[string]shown{}
	err := testphotos.Series(seed, func(p testphotos.Photo) error {
		if len(truth) == n {
			return errEnough
		}
		truth[p.Name+".jpg"] = shown{p.Category, p.Codes}
		return os.WriteFile(filepath.Join(dir, p.Name+".jpg"), p.File, 0o644)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	raw, err := json.MarshalIndent(truth, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "truth.json"), append(raw, '\n'), 0o644)
}

func encode(img *image.Gray) ([]byte, error) {
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img)
	return b.Bytes(), err
}
