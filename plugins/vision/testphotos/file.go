package testphotos

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
)

// encode returns the JPEG file of a picture in slightly warm color. With an
// orientation above 1 the stored pixels are turned, and EXIF data says how to turn
// them back.
func encode(img *image.Gray, quality, orientation int) ([]byte, error) {
	img = store(img, orientation)
	color := image.NewYCbCr(img.Rect, image.YCbCrSubsampleRatio420)
	copy(color.Y, img.Pix)
	for i := range color.Cb {
		color.Cb[i], color.Cr[i] = 118, 136
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, color, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	if orientation == 0 {
		return b.Bytes(), nil
	}
	return append(append([]byte{0xff, 0xd8}, exif(orientation)...), b.Bytes()[2:]...), nil
}

// exif returns the JPEG segment that notes an orientation.
func exif(orientation int) []byte {
	tiff := []byte("MM\x00\x2a\x00\x00\x00\x08\x00\x02")
	tiff = append(tiff, 0x01, 0x0f, 0, 2, 0, 0, 0, 4, 'K', 'o', 'a', 0) // the camera's maker
	tiff = append(tiff, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, byte(orientation), 0, 0)
	tiff = append(tiff, 0, 0, 0, 0)
	segment := append([]byte("Exif\x00\x00"), tiff...)
	return append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(segment)+2)), segment...)
}

// store returns the pixels as a camera stores them that is held in an orientation.
func store(img *image.Gray, orientation int) *image.Gray {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	// from returns which shown pixel is stored at x, y.
	from := map[int]func(x, y int) (int, int){
		2: func(x, y int) (int, int) { return width - 1 - x, y },
		3: func(x, y int) (int, int) { return width - 1 - x, height - 1 - y },
		4: func(x, y int) (int, int) { return x, height - 1 - y },
		5: func(x, y int) (int, int) { return y, x },
		6: func(x, y int) (int, int) { return width - 1 - y, x },
		7: func(x, y int) (int, int) { return width - 1 - y, height - 1 - x },
		8: func(x, y int) (int, int) { return y, height - 1 - x },
	}[orientation]
	if from == nil {
		return img
	}
	out := image.NewGray(image.Rect(0, 0, width, height))
	if orientation >= 5 {
		out = image.NewGray(image.Rect(0, 0, height, width))
	}
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			u, v := from(x, y)
			out.Pix[y*out.Stride+x] = img.Pix[v*img.Stride+u]
		}
	}
	return out
}
