package barcode

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// Orientation returns how the stored pixels of a file are to be turned, as EXIF
// numbers it: 1 to 8, 1 is not at all. Where there is no such note, or none that
// makes sense, it is 1.
func Orientation(file []byte) int {
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xd8")):
		for marker, data := range jpegSegments(file) {
			if tiff, ok := bytes.CutPrefix(data, []byte("Exif\x00\x00")); ok && marker == 0xe1 {
				return tiffOrientation(tiff)
			}
		}
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		for name, data := range chunks(file[8:], binary.BigEndian, true) {
			if name == "eXIf" {
				return tiffOrientation(data)
			}
		}
	case len(file) >= 12 && string(file[:4]) == "RIFF":
		for name, data := range chunks(file[12:], binary.LittleEndian, false) {
			if name == "EXIF" {
				return tiffOrientation(bytes.TrimPrefix(data, []byte("Exif\x00\x00")))
			}
		}
	}
	return 1
}

// jpegSegments returns the segments before the pixels, by their marker.
func jpegSegments(file []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for at := 2; at+4 <= len(file) && file[at] == 0xff; {
			marker := file[at+1]
			if marker == 0xff { // a fill byte
				at++
				continue
			}
			size := int(binary.BigEndian.Uint16(file[at+2:]))
			if marker == 0xda || size < 2 || at+2+size > len(file) || !yield(marker, file[at+4:at+2+size]) {
				return
			}
			at += 2 + size
		}
	}
}

// chunks returns the chunks of a PNG file, whose size comes first and which end in
// a checksum, or of a RIFF file, whose name comes first and which are padded.
func chunks(rest []byte, order binary.ByteOrder, png bool) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for len(rest) >= 8 {
			name, size := string(rest[:4]), uint64(order.Uint32(rest[4:]))
			if png {
				name, size = string(rest[4:8]), uint64(order.Uint32(rest))
			}
			rest = rest[8:]
			if size > uint64(len(rest)) || !yield(name, rest[:size]) {
				return
			}
			if png {
				size += 4
			} else {
				size += size % 2
			}
			rest = rest[min(size, uint64(len(rest))):]
		}
	}
}

// tiffOrientation reads the orientation from the first directory of TIFF data.
func tiffOrientation(data []byte) int {
	const tag, short = 0x0112, 3
	if len(data) < 8 {
		return 1
	}
	var order binary.ByteOrder
	switch string(data[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	at := uint64(order.Uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return 1
	}
	entries := data[at+2:]
	for range order.Uint16(data[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if v := int(order.Uint16(entries[8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// turn returns the picture as an orientation says that it is shown.
func (g *Gray) turn(orientation int) *Gray {
	if orientation <= 1 || orientation > 8 {
		return g
	}
	width, height := g.Width, g.Height
	out := &Gray{Width: width, Height: height, Pix: make([]byte, len(g.Pix))}
	if orientation >= 5 {
		out.Width, out.Height = height, width
	}
	// Where the first pixel is stored, and what one step right and down is.
	last := len(g.Pix) - 1
	start, right, down := 0, 1, width
	switch orientation {
	case 2:
		start, right, down = width-1, -1, width
	case 3:
		start, right, down = last, -1, -width
	case 4:
		start, right, down = last-width+1, 1, -width
	case 5:
		start, right, down = 0, width, 1
	case 6:
		start, right, down = last-width+1, -width, 1
	case 7:
		start, right, down = last, -width, -1
	case 8:
		start, right, down = width-1, width, -1
	}
	for y := range out.Height {
		from := start + y*down
		row := out.Pix[y*out.Width : (y+1)*out.Width]
		for x := range row {
			row[x] = g.Pix[from]
			from += right
		}
	}
	return out
}
