package testphotos

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/oned"
	"github.com/makiuchi-d/gozxing/qrcode"
)

// Code is one code that a photo shows.
type Code struct {
	Format string `json:"format"` // as the tool vision.detect names it
	Text   string `json:"text"`   // what is printed: the digits or the text
	Value  string `json:"value"`  // what the tool returns for it
}

// bits returns the code's modules, without quiet zones; a linear code has one row.
func (c Code) bits() (*gozxing.BitMatrix, error) {
	writer, format := gozxing.Writer(nil), gozxing.BarcodeFormat(0)
	hints := map[gozxing.EncodeHintType]any{gozxing.EncodeHintType_MARGIN: 0}
	switch c.Format {
	case "ean13":
		writer, format = oned.NewEAN13Writer(), gozxing.BarcodeFormat_EAN_13
	case "upca":
		writer, format = oned.NewUPCAWriter(), gozxing.BarcodeFormat_UPC_A
	case "ean8":
		writer, format = oned.NewEAN8Writer(), gozxing.BarcodeFormat_EAN_8
	case "upce":
		writer, format = oned.NewUPCEWriter(), gozxing.BarcodeFormat_UPC_E
	case "code128":
		writer, format = oned.NewCode128Writer(), gozxing.BarcodeFormat_CODE_128
	case "itf":
		writer, format = oned.NewITFWriter(), gozxing.BarcodeFormat_ITF
	case "qr":
		writer, format = qrcode.NewQRCodeWriter(), gozxing.BarcodeFormat_QR_CODE
	default:
		return nil, fmt.Errorf("unknown format %q", c.Format)
	}
	return writer.Encode(c.Text, format, 0, 0, hints)
}

// NewCode returns a random code of a format.
func NewCode(format string, random *rand.Rand) Code {
	digits := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(byte('0' + random.IntN(10)))
		}
		return b.String()
	}
	complete := func(body string) string { return body + string(CheckDigit(body)) }
	c := Code{Format: format}
	switch format {
	case "ean13":
		c.Text = complete(string(byte('1'+random.IntN(9))) + digits(11))
	case "upca":
		c.Text = complete(digits(11))
		c.Value = "0" + c.Text
	case "ean8":
		c.Text = complete(digits(7))
	case "upce":
		short := "0" + digits(6)
		upca := expandUPCE(short)
		c.Text = short + string(CheckDigit(upca))
		c.Value = "0" + upca + string(CheckDigit(upca))
	case "itf":
		c.Text = complete(string(byte('1'+random.IntN(8))) + digits(12))
	case "code128":
		const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz0123456789-./ "
		var b strings.Builder
		for range 5 + random.IntN(9) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		c.Text = strings.TrimSpace("K" + b.String() + "x")
	case "qr":
		if random.IntN(2) == 0 {
			c.Text = "https://koan.example/p/" + digits(8)
			break
		}
		gtin := complete(string(byte('1'+random.IntN(9))) + digits(11))
		c.Text, c.Value = "https://id.gs1.org/01/0"+gtin+"/10/L"+digits(4)+"?17=271231", gtin
	}
	if c.Value == "" {
		c.Value = c.Text
	}
	return c
}

// CheckDigit returns the digit that completes a GS1 number.
func CheckDigit(body string) byte {
	sum := 0
	for i := range len(body) {
		weight := 1
		if (len(body)-i)%2 == 1 {
			weight = 3
		}
		sum += weight * int(body[i]-'0')
	}
	return byte('0' + (10-sum%10)%10)
}

// expandUPCE returns the 11 digits before the check digit that 7 stand for.
func expandUPCE(s string) string {
	d := s[1:]
	switch d[5] {
	case '0', '1', '2':
		return s[:1] + d[:2] + d[5:6] + "0000" + d[2:5]
	case '3':
		return s[:1] + d[:3] + "00000" + d[3:5]
	case '4':
		return s[:1] + d[:4] + "00000" + d[4:5]
	}
	return s[:1] + d[:5] + "0000" + d[5:6]
}

// Modules returns the bars of a linear code, 1 is dark.
func (c Code) Modules() (string, error) {
	bits, err := c.bits()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for x := range bits.GetWidth() {
		if bits.Get(x, 0) {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String(), nil
}
