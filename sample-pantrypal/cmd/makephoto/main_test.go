package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/vision/barcode"
	"github.com/koan-go/koan/plugins/vision/testphotos"
)

// gtin returns the product code of the sample's product n.
func gtin(n int) string {
	body := fmt.Sprintf("2000000%05d", n)
	return body + string(testphotos.CheckDigit(body))
}

func read(t *testing.T, file []byte) []string {
	t.Helper()
	picture, err := barcode.Decode(file)
	require.NoError(t, err)
	found, err := barcode.Detect(context.Background(), picture)
	require.NoError(t, err)
	var values []string
	for _, d := range found {
		require.Greater(t, d.Confidence, 0.9, d.Value)
		values = append(values, string(d.Format)+" "+d.Value)
	}
	slices.Sort(values)
	return values
}

func TestCommittedPhotos(t *testing.T) {
	haul, err := os.ReadFile("../../testdata/haul.png")
	require.NoError(t, err)
	var codes, want []string
	for _, n := range []int{3, 99, 7, 12, 18, 25} {
		codes = append(codes, gtin(n))
		want = append(want, "ean13 "+gtin(n))
	}
	slices.Sort(want)
	require.Equal(t, want, read(t, haul))
	require.Less(t, len(haul), 1_500_000)

	img, err := photo(codes, 1600, 1200, 7)
	require.NoError(t, err)
	picture, err := barcode.Decode(haul)
	require.NoError(t, err)
	require.Equal(t, img.Pix, picture.Pix, "haul.png is not what the generator draws: run go generate")

	empty, err := os.ReadFile("../../testdata/empty.png")
	require.NoError(t, err)
	require.Empty(t, read(t, empty))

	broken, err := os.ReadFile("../../testdata/broken.png")
	require.NoError(t, err)
	_, err = barcode.Decode(broken)
	require.ErrorContains(t, err, "damaged")
}

func TestPhotosAreReadable(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			img, err := photo([]string{gtin(1), "20000011", "012345678905", gtin(2), gtin(60), "73513537"}, 1280, 960, seed)
			require.NoError(t, err)
			file, err := encode(img)
			require.NoError(t, err)
			require.Equal(t, []string{"ean13 " + gtin(1), "ean13 " + gtin(2), "ean13 " + gtin(60), "ean8 20000011", "ean8 73513537", "upca 0012345678905"}, read(t, file))
		})
	}
}

func TestModules(t *testing.T) {
	bars, err := modules("4006381333931")
	require.NoError(t, err)
	require.Equal(t, "10100011010100111010111101111010001001011001101010100001010000101000010111010010000101100110101", bars)

	for name, code := range map[string]string{
		"letters": "40063813339ab", "length": "123", "check digit": "4006381333932", "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := modules(code)
			require.Error(t, err)
		})
	}
}

func TestPhotoRefuses(t *testing.T) {
	_, err := photo(nil, 10, 10, 1)
	require.ErrorContains(t, err, "too few")
	_, err = photo([]string{gtin(1), gtin(2), gtin(3), gtin(4)}, 200, 200, 1)
	require.ErrorContains(t, err, "do not fit")
}

func TestSeries(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, writeSeries(dir, 1, 3))
	raw, err := os.ReadFile(dir + "/truth.json")
	require.NoError(t, err)
	var truth map[string]struct {
		Codes []testphotos.Code `json:"codes"`
	}
	require.NoError(t, json.Unmarshal(raw, &truth))
	require.Len(t, truth, 3)
	for name, photo := range truth {
		require.NotEmpty(t, photo.Codes)
		file, err := os.ReadFile(dir + "/" + name)
		require.NoError(t, err)
		_, err = barcode.Decode(file)
		require.NoError(t, err)
	}
}
