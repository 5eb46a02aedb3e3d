package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/oned"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/kit"
)

// codePNG is a picture of one EAN-13 code.
func codePNG(t testing.TB, text string) []byte {
	t.Helper()
	m, err := oned.NewEAN13Writer().EncodeWithoutHint(text, gozxing.BarcodeFormat_EAN_13, 360, 120)
	require.NoError(t, err)
	img := image.NewGray(image.Rect(0, 0, 400, 160))
	for i := range img.Pix {
		x, y := i%400-20, i/400-20
		img.Pix[i] = 230
		if x >= 0 && x < m.GetWidth() && y >= 0 && y < 120 && m.Get(x, y) {
			img.Pix[i] = 20
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// configured returns a plugin whose root holds some files, and the root.
func configured(t testing.TB) (*vision, string) {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "in", "deep"), 0o755))
	code := codePNG(t, "2000000000039")
	for name, file := range map[string][]byte{
		"root/haul.png": code, "root/in/deep/haul.png": code, "secret.png": code,
		"root/text.png": []byte("not a picture"), "root/phone.heic": []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"), "root/cut.png": code[:len(code)/2], "root/empty.png": nil,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(base, name), file, 0o644))
	}
	for link, to := range map[string]string{
		"root/out.png": "../secret.png", "root/abs.png": filepath.Join(base, "secret.png"), "root/up": "..", "root/inside.png": "in/deep/haul.png",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(base, link)))
	}
	v := &vision{slots: make(chan struct{}, 1)}
	require.NoError(t, v.configure(t.Context(), map[string]string{"root": root}))
	return v, root
}

func TestDetectByPath(t *testing.T) {
	v, root := configured(t)
	for name, path := range map[string]string{
		"relative": "haul.png", "below": "in/deep/haul.png", "with dots": "./in/../haul.png",
		"absolute": filepath.Join(root, "haul.png"), "link inside": "inside.png",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := v.detect(t.Context(), kit.Call{}, detectIn{Path: path})
			require.NoError(t, err)
			require.Len(t, out.Detections, 1)
			require.Equal(t, "ean13", out.Detections[0].Format)
			require.Equal(t, "2000000000039", out.Detections[0].Value)
			require.Equal(t, 400, out.Image.Width)
			require.Equal(t, 160, out.Image.Height)
			require.Equal(t, filepath.Base(path), out.Image.Name)
		})
	}
}

// The working directory is that of the local operator: others do not even learn what is in it.
func TestPathsAreForThePersonAtTheMachine(t *testing.T) {
	_, root := configured(t)
	t.Chdir(root)
	v := &vision{slots: make(chan struct{}, 1)}
	require.NoError(t, v.configure(t.Context(), map[string]string{"root": ""}))
	_, err := v.detect(t.Context(), kit.Call{Local: true}, detectIn{Path: "haul.png"})
	require.NoError(t, err)
	var said []string
	for _, path := range []string{"haul.png", "text.png", "nothing.png", "in", "../secret.png"} {
		_, err := v.detect(t.Context(), kit.Call{}, detectIn{Path: path})
		f := fault.From(err)
		require.Equal(t, fault.Forbidden, f.Code, path)
		require.Equal(t, "/path", f.Path)
		said = append(said, f.Message)
	}
	require.Len(t, slices.Compact(said), 1)
}

func TestDetectByBytes(t *testing.T) {
	v, _ := configured(t)
	file := codePNG(t, "2000000000121")
	text := base64.StdEncoding.EncodeToString(file)
	for name, in := range map[string]string{"plain": text, "data URL": "data:image/png;base64," + text} {
		t.Run(name, func(t *testing.T) {
			out, err := v.detect(t.Context(), kit.Call{}, detectIn{Base64: in})
			require.NoError(t, err)
			require.Len(t, out.Detections, 1)
			sum := sha256.Sum256(file)
			require.Equal(t, hex.EncodeToString(sum[:]), out.Image.SHA256)
			require.Empty(t, out.Image.Name)
		})
	}
}

// What phones and scanners make besides is named, with what to do about it.
func TestOtherFormatsAreNamed(t *testing.T) {
	v, root := configured(t)
	box := func(brands string) string {
		return string([]byte{0, 0, 0, byte(8 + len(brands))}) + "ftyp" + brands + "rest"
	}
	for name, file := range map[string]string{
		"HEIC": box("heic\x00\x00\x00\x00mif1heic"), "HEIC ": box("mif1\x00\x00\x00\x00mif1heic"), "HEIC  ": box("heix\x00\x00\x00\x00"),
		"AVIF": box("avif\x00\x00\x00\x00mif1"), "AVIF ": box("mif1\x00\x00\x00\x00avifmiaf"),
		"TIFF": "II*\x00\x08\x00\x00\x00", "TIFF ": "MM\x00*\x00\x00\x00\x08", "BMP": "BM" + strings.Repeat("\x00", 60), "GIF": "GIF89a", "PDF": "%PDF-1.7\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "other"), []byte(file), 0o600))
		for _, in := range []detectIn{{Path: "other"}, {Base64: base64.StdEncoding.EncodeToString([]byte(file))}} {
			_, err := v.detect(t.Context(), kit.Call{}, in)
			f := fault.From(err)
			require.Equal(t, fault.InvalidPayload, f.Code)
			require.Contains(t, f.Message, "the file is "+strings.TrimSpace(name))
			require.Contains(t, f.Hint, "JPEG")
		}
	}
}

func TestExampleRuns(t *testing.T) {
	v, _ := configured(t)
	out, err := v.detect(t.Context(), kit.Call{}, detectIn{Base64: examplePNG})
	require.NoError(t, err)
	raw, err := json.Marshal(out)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"detections":[]`, "a picture without codes is no error, and null is no array")
}

func TestDetectRefuses(t *testing.T) {
	v, root := configured(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe.png"), 0o644))
	big, err := os.Create(filepath.Join(root, "big.png"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(maxFile+1))
	require.NoError(t, big.Close())

	tests := []struct {
		name string
		in   detectIn
		code fault.Code
		path string
	}{
		{"nothing", detectIn{}, fault.InvalidPayload, ""},
		{"both", detectIn{Path: "haul.png", Base64: examplePNG}, fault.InvalidPayload, ""},
		{"missing", detectIn{Path: "no.png"}, fault.NotFound, "/path"},
		{"missing folder", detectIn{Path: "no/no.png"}, fault.NotFound, "/path"},
		{"missing, absolute", detectIn{Path: filepath.Join(root, "no.png")}, fault.NotFound, "/path"},
		{"up", detectIn{Path: "../secret.png"}, fault.InvalidPayload, "/path"},
		{"up in the middle", detectIn{Path: "in/../../secret.png"}, fault.InvalidPayload, "/path"},
		{"absolute outside", detectIn{Path: filepath.Join(filepath.Dir(root), "secret.png")}, fault.InvalidPayload, "/path"},
		{"system file", detectIn{Path: "/etc/passwd"}, fault.InvalidPayload, "/path"},
		{"link outside", detectIn{Path: "out.png"}, fault.InvalidPayload, "/path"},
		{"absolute link outside", detectIn{Path: "abs.png"}, fault.InvalidPayload, "/path"},
		{"through a linked folder", detectIn{Path: "up/secret.png"}, fault.InvalidPayload, "/path"},
		{"folder", detectIn{Path: "in"}, fault.InvalidPayload, "/path"},
		{"root itself", detectIn{Path: "."}, fault.InvalidPayload, "/path"},
		{"pipe", detectIn{Path: "pipe.png"}, fault.InvalidPayload, "/path"},
		{"zero byte", detectIn{Path: "haul.png\x00"}, fault.InvalidPayload, "/path"},
		{"file as folder", detectIn{Path: "haul.png/x"}, fault.InvalidPayload, "/path"},
		{"long name", detectIn{Path: strings.Repeat("x", 5000)}, fault.InvalidPayload, "/path"},
		{"text", detectIn{Path: "text.png"}, fault.InvalidPayload, "/path"},
		{"heic", detectIn{Path: "phone.heic"}, fault.InvalidPayload, "/path"},
		{"cut off", detectIn{Path: "cut.png"}, fault.InvalidPayload, "/path"},
		{"empty file", detectIn{Path: "empty.png"}, fault.InvalidPayload, "/path"},
		{"too many bytes", detectIn{Path: "big.png"}, fault.CallTooLarge, "/path"},
		{"no base64", detectIn{Base64: "???"}, fault.InvalidPayload, "/base64"},
		{"base64 of text", detectIn{Base64: "aGVsbG8="}, fault.InvalidPayload, "/base64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := v.detect(ctx, kit.Call{}, tt.in)
			f := fault.From(err)
			require.NotNil(t, f)
			require.Equal(t, tt.code, f.Code, f.Message)
			require.Equal(t, tt.path, f.Path)
			require.NotEmpty(t, f.Hint)
			if !filepath.IsAbs(tt.in.Path) {
				require.NotContains(t, f.Message+f.Hint, root, "the folder's place is nobody's business")
			}
		})
	}
}

func TestConfigureRefuses(t *testing.T) {
	v := &vision{}
	require.ErrorContains(t, v.configure(t.Context(), map[string]string{"root": filepath.Join(t.TempDir(), "no")}), "root")
}

// FuzzDetect: no input makes the plugin panic, read outside, or fail in another
// way than the documented ones.
func FuzzDetect(f *testing.F) {
	v, _ := configured(f)
	f.Add("haul.png", "")
	f.Add("", examplePNG)
	f.Add("../secret.png", "")
	f.Add("up/secret.png", "data:,")
	f.Fuzz(func(t *testing.T, path, text string) {
		_, err := v.detect(context.Background(), kit.Call{}, detectIn{Path: path, Base64: text})
		if err == nil {
			require.NotContains(t, path, "secret")
			return
		}
		require.Contains(t, []fault.Code{fault.InvalidPayload, fault.NotFound, fault.CallTooLarge}, fault.CodeOf(err), err.Error())
	})
}

// Without an app there are no files.
func TestFileOfTheApp(t *testing.T) {
	v, _ := configured(t)
	_, err := v.detect(t.Context(), kit.Call{}, detectIn{File: &kit.File{ID: "file_00000000000000000000000000000000"}})
	f := fault.From(err)
	require.Equal(t, fault.CapabilityUnsupported, f.Code)
	require.Equal(t, "/file", f.Path)
	_, err = v.detect(t.Context(), kit.Call{}, detectIn{File: &kit.File{}, Path: "haul.png"})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
}
