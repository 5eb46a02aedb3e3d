package barcode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // a format that Decode reads
	_ "image/png"  // likewise

	_ "golang.org/x/image/webp" // likewise
)

const (
	// MaxPixels bounds a picture. It is checked before the picture is unpacked, so
	// that a small file cannot fill the memory.
	MaxPixels = 50_000_000
	// maxBytes bounds what a picture takes in memory while it is unpacked. Only
	// pictures with more bytes per pixel than photos have are bounded by it.
	maxBytes = 400 << 20
)

var (
	// ErrTooLarge is a picture of more than MaxPixels.
	ErrTooLarge = errors.New("the picture is too large")
	// ErrFormat is a picture in a format that is known, but not read.
	ErrFormat = errors.New("the format is not supported")
)

// Decode reads a PNG, JPEG or WebP file, and turns the picture as its EXIF data
// says, so that all positions are those of the picture as it is shown.
func Decode(file []byte) (*Gray, error) {
	img, err := Unpack(file)
	if err != nil {
		return nil, err
	}
	return FromImage(img).turn(Orientation(file)), nil
}

// Unpack reads a PNG, JPEG or WebP file in its colours, as it is stored: Orientation says how it is to
// be turned.
func Unpack(file []byte) (image.Image, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(file))
	if errors.Is(err, image.ErrFormat) {
		if name := unsupported(file); name != "" {
			return nil, fmt.Errorf("%w: the file is %s", ErrFormat, name)
		}
		return nil, errors.New("the file is not a PNG, JPEG or WebP picture")
	}
	if err != nil {
		return nil, fmt.Errorf("the file's header cannot be read: %w", err)
	}
	if config.Width <= 0 || config.Height <= 0 {
		return nil, fmt.Errorf("the picture has %d x %d pixels", config.Width, config.Height)
	}
	most := min(MaxPixels, maxBytes/bytesPerPixel(file, format))
	if config.Width > most/config.Height {
		return nil, fmt.Errorf("%w: %d x %d pixels, at most %d are read", ErrTooLarge, config.Width, config.Height, most)
	}
	img, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("the %s file is damaged: %w", format, err)
	}
	return img, nil
}

// bytesPerPixel returns what a pixel takes in memory at most while the file is
// unpacked.
func bytesPerPixel(file []byte, format string) int {
	switch {
	case format == "jpeg" && progressive(file):
		return 15 // coefficients of 4 bytes for three planes, and the planes
	case format == "png" && len(file) > 28 && file[28] == 1:
		return 16 // interlaced: twice 64 bits
	}
	return 8
}

// progressive reports whether a JPEG file is unpacked from several scans.
func progressive(file []byte) bool {
	for marker := range jpegSegments(file) {
		if marker == 0xc2 {
			return true
		}
	}
	return false
}

// unsupported names the format of a picture that is not read, by its first bytes.
func unsupported(file []byte) string {
	switch {
	case len(file) >= 12 && string(file[4:8]) == "ftyp":
		switch string(file[8:12]) {
		case "mif1", "msf1", "miaf": // said of both; what follows tells which
			if box := min(int(binary.BigEndian.Uint32(file)), len(file)); box > 16 && bytes.Contains(file[16:box], []byte("avi")) {
				return "AVIF"
			}
			return "HEIC"
		case "heic", "heix", "heim", "heis", "hevc", "hevx":
			return "HEIC"
		case "avif", "avis":
			return "AVIF"
		}
		return "a video, or a picture in a video's container"
	case bytes.HasPrefix(file, []byte("GIF8")):
		return "GIF"
	case bytes.HasPrefix(file, []byte("BM")) && len(file) > 26:
		return "BMP"
	case bytes.HasPrefix(file, []byte("II*\x00")), bytes.HasPrefix(file, []byte("MM\x00*")):
		return "TIFF, or a camera's raw format"
	case bytes.HasPrefix(file, []byte("%PDF-")):
		return "PDF"
	case bytes.HasPrefix(file, []byte("\x00\x00\x00\x0cJXL ")), bytes.HasPrefix(file, []byte("\xff\x0a")):
		return "JPEG XL"
	}
	return ""
}
