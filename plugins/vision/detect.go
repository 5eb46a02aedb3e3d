package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/plugins/vision/barcode"
)

// maxFile bounds a picture's file, in bytes. Pictures sent as base64 are bounded
// by the size of a call.
const maxFile = 32 << 20

type detectIn struct {
	Path   string    `json:"path,omitempty"   jsonschema:"minLength=1" jsonschema_description:"a JPEG, PNG or WebP file, relative to plugins.vision.root; or give file or base64"`
	File   *kit.File `json:"file,omitempty"`
	Base64 string    `json:"base64,omitempty" jsonschema:"minLength=1" jsonschema_description:"its bytes"`
}

type detectOut struct {
	Detections []detection `json:"detections" jsonschema_description:"the codes, from top to bottom; empty when there are none"`
	Image      imageInfo   `json:"image"`
}

type detection struct {
	Format     string      `json:"format"     jsonschema:"enum=ean13,enum=upca,enum=ean8,enum=upce,enum=itf,enum=code128,enum=qr"`
	Value      string      `json:"value"      jsonschema_description:"the product's number where the code holds one: 13 digits, 8 for ean8, 14 for itf; otherwise the text of a qr or code128"`
	Text       string      `json:"text,omitempty" jsonschema_description:"what the code holds, where value is only a part of it: a GS1 link, a GS1 element string, the 8 digits of upce"`
	Confidence float64     `json:"confidence" jsonschema:"minimum=0,maximum=1" jsonschema_description:"share of the reads over that place that agree"`
	Box        barcode.Box `json:"box"        jsonschema_description:"upright rectangle in pixels, from the upper left corner of the picture as shown, that is, turned as its EXIF data says"`
}

type imageInfo struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	SHA256 string `json:"sha256"         jsonschema_description:"of the file's bytes, in hexadecimal"`
	Name   string `json:"name,omitempty" jsonschema_description:"file name, when a path was given"`
}

func plugin() kit.Plugin {
	v := &vision{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	return kit.Plugin{
		Domain:      "vision",
		Version:     "1.0.0",
		Description: "Reads barcodes and QR codes from pictures.",
		Settings: []kit.Setting{
			{Key: "root", Folder: true, Help: "folder in which `path` resolves; without it, the working directory of the app, and for the person at its machine alone"},
		},
		Configure: v.configure,
		Functions: []kit.Function{
			kit.Func("detect", "Read the barcodes and QR codes in a JPEG, PNG or WebP picture.", v.detect,
				kit.Title("Read barcodes"), kit.ReadOnly(), kit.Idempotent(), kit.Example(detectIn{Base64: examplePNG})),
		},
	}
}

// examplePNG is a white picture of one pixel: the example runs on every app.
const examplePNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="

// vision is the plugin's state: the folder that paths resolve in.
type vision struct {
	root  atomic.Pointer[folder]
	slots chan struct{} // a picture in work takes memory; more wait
}

type folder struct {
	*os.Root
	names []string // absolute names of the folder: as configured, and without links
	own   bool     // nobody has named it: it is the working directory, whose files are not everybody's
}

// configure opens the root folder.
func (v *vision) configure(_ context.Context, settings map[string]string) error {
	dir, err := filepath.Abs(settings["root"]) // the working directory for ""
	if err != nil {
		return fmt.Errorf("root: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("root: the folder cannot be opened: %w", err)
	}
	f := &folder{Root: root, names: []string{dir}, own: settings["root"] == ""}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		f.names = append(f.names, real)
	}
	v.root.Store(f)
	return nil
}

// detect reads the codes of one picture. Faults: invalid_payload for an input that is not
// exactly one picture in a supported format, not_found for a missing file, call_too_large
// for too many bytes or pixels.
func (v *vision) detect(ctx context.Context, c kit.Call, in detectIn) (detectOut, error) {
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return detectOut{}, ctx.Err()
	}
	file, field, err := v.load(ctx, c, in)
	if err != nil {
		return detectOut{}, err
	}
	picture, err := barcode.Decode(file)
	switch {
	case errors.Is(err, barcode.ErrTooLarge):
		return detectOut{}, fault.New(fault.CallTooLarge, err.Error()).WithPath(field).
			WithHint("Make the picture smaller: 4000 pixels across a table of groceries are enough to read their barcodes.")
	case errors.Is(err, barcode.ErrFormat):
		return detectOut{}, fault.Invalid(fault.Detail{Path: field, Message: err.Error()}).
			WithHint("Convert the picture to JPEG, PNG or WebP; phones that take HEIC have a setting for JPEG, such as \"Most Compatible\".")
	case err != nil:
		return detectOut{}, fault.Invalid(fault.Detail{Path: field, Message: err.Error()}).
			WithHint("Give a JPEG, PNG or WebP picture that other programs can open.")
	}
	found, err := barcode.Detect(ctx, picture)
	if err != nil {
		return detectOut{}, err
	}
	sum := sha256.Sum256(file)
	out := detectOut{
		Detections: make([]detection, 0, len(found)),
		Image:      imageInfo{Width: picture.Width, Height: picture.Height, SHA256: hex.EncodeToString(sum[:])},
	}
	if in.Path != "" {
		out.Image.Name = filepath.Base(in.Path)
	}
	for _, d := range found {
		out.Detections = append(out.Detections, detection{Format: string(d.Format), Value: d.Value, Text: d.Text, Confidence: d.Confidence, Box: d.Box})
	}
	return out, nil
}

// load returns the file's bytes and the field of the input they came from.
func (v *vision) load(ctx context.Context, c kit.Call, in detectIn) (file []byte, field string, err error) {
	given := 0
	for _, is := range []bool{in.Path != "", in.File != nil, in.Base64 != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, "", fault.Invalid(fault.Detail{Message: "several of path, file and base64 are given"}).WithHint("Give exactly one of path, file and base64.")
	case in.Path != "":
		file, err = v.read(in.Path, c.Local)
		return file, "/path", err
	case in.File != nil:
		file, err = readStored(ctx, c, in.File.ID)
		return file, "/file", err
	case in.Base64 != "":
		file, err = decodeBase64(in.Base64)
		return file, "/base64", err
	}
	return nil, "", fault.Invalid(fault.Detail{Message: "none of path, file and base64 is given"}).WithHint("Give exactly one of path, file and base64.")
}

// readStored reads a file that the app keeps.
func readStored(ctx context.Context, c kit.Call, id string) ([]byte, error) {
	f, err := c.File(ctx, id)
	if err != nil {
		var known *fault.Fault
		if errors.As(err, &known) {
			return nil, known.WithPath("/file")
		}
		return nil, err
	}
	if f.Size() > maxFile {
		return nil, fault.Newf(fault.CallTooLarge, "the file has %d bytes; at most %d are read", f.Size(), maxFile).WithPath("/file")
	}
	return io.ReadAll(f)
}

// decodeBase64 accepts a data URL too, which is what browsers produce.
func decodeBase64(s string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(s, "data:"); ok {
		_, s, _ = strings.Cut(rest, ",")
	}
	file, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fault.Invalid(fault.Detail{Path: "/base64", Message: "it is not base64: " + err.Error()})
	}
	return file, nil
}

const outsideHint = "Give a path inside the folder that the setting plugins.vision.root names, or send the picture as base64."

// read reads a file inside the root. Nothing outside can be reached: os.Root rejects every
// path that leads out of it, through links too. byLocal says that the local operator asks.
func (v *vision) read(path string, byLocal bool) ([]byte, error) {
	root := v.root.Load()
	if root == nil {
		return nil, fault.New(fault.ServiceUnavailable, "the plugin has not been configured")
	}
	if root.own && !byLocal {
		return nil, fault.New(fault.Forbidden, "pictures are read by their path only in the folder that plugins.vision.root names, and it is not set").WithPath("/path").
			WithHint("Upload the picture and send {\"$file\": id} as file, or ask the operator to set plugins.vision.root.")
	}
	local, ok := root.local(path)
	if !ok {
		return nil, fault.Invalid(fault.Detail{Path: "/path", Message: fmt.Sprintf("%q is outside of plugins.vision.root", path)}).WithHint(outsideHint)
	}
	info, err := root.Stat(local) // before opening: a pipe would block
	if err == nil && !info.Mode().IsRegular() {
		return nil, fault.Invalid(fault.Detail{Path: "/path", Message: fmt.Sprintf("%q is not a file", path)})
	}
	if err != nil {
		return nil, fileFault(path, err)
	}
	if info.Size() > maxFile {
		return nil, fault.Newf(fault.CallTooLarge, "%q has %d bytes; at most %d are read", path, info.Size(), maxFile).WithPath("/path")
	}
	f, err := root.Open(local)
	if err != nil {
		return nil, fileFault(path, err)
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fileFault(path, err)
	}
	return file, nil
}

// local makes a path relative to the folder. An absolute one may name a file in
// it, too.
func (f *folder) local(path string) (string, bool) {
	if strings.ContainsRune(path, 0) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		return path, filepath.IsLocal(path)
	}
	for _, name := range f.names {
		if rel, err := filepath.Rel(name, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

func fileFault(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Newf(fault.NotFound, "there is no file %q", path).WithPath("/path").
			WithHint("Check the name; paths resolve inside the folder that plugins.vision.root names.").Because(err)
	case errors.Is(err, fs.ErrPermission):
		return fault.Invalid(fault.Detail{Path: "/path", Message: fmt.Sprintf("permission to read the file %q was denied", path)}).Because(err)
	}
	// The rest: a link that leads out of the root, or an invalid name.
	return fault.Invalid(fault.Detail{Path: "/path", Message: fmt.Sprintf("%q cannot be read inside plugins.vision.root", path)}).WithHint(outsideHint).Because(err)
}
