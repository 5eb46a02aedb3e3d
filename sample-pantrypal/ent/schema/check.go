package schema

import (
	"fmt"
	"regexp"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// validUnit refuses what is no unit, such as "furlong", and names the unit that a
// word such as "grams" stands for.
func validUnit(unit string) error {
	if quantity.Unit(unit).Known() {
		return nil
	}
	if meant, ok := quantity.ParseUnit(unit); ok {
		return fmt.Errorf("unit %q; write it as %q", unit, string(meant))
	}
	return fmt.Errorf("unknown unit %q; want one of %v", unit, quantity.Units())
}

var gtin = regexp.MustCompile(`^(\d{8}|\d{12,14})$`)

// maxCode is how many bytes a code has at most: a QR code of the largest kind has fewer.
const maxCode = 8192

// validBarcodes refuses what is no code at all.
func validBarcodes(codes []string) error {
	for i, code := range codes {
		if code == "" || len(code) > maxCode {
			return fmt.Errorf("a barcode has 1 to %d bytes, not %d", maxCode, len(code))
		}
		if contains(codes[:i], code) {
			return fmt.Errorf("barcode %q stands twice", code)
		}
	}
	return nil
}

// CheckGTIN refuses a code that looks like a product's number and is none: an EAN-13 and a UPC-A
// (with its leading zero) have 13 digits, an EAN-8 has 8, an ITF 14, and the last one is the check
// digit. Other codes, such as a text in a QR code, say nothing by which they could be checked.
func CheckGTIN(code string) error {
	if !gtin.MatchString(code) {
		return nil
	}
	if len(code) == 12 {
		return fmt.Errorf("barcode %s has 12 digits; write a UPC-A with a leading 0", code)
	}
	if want := checkDigit(code[:len(code)-1]); code[len(code)-1] != want {
		return fmt.Errorf("barcode %s has the check digit %c, not %c, so one of its digits is wrong", code, want, code[len(code)-1])
	}
	return nil
}

// checkDigit is GS1's: weights 3 and 1 from the right.
func checkDigit(digits string) byte {
	sum := 0
	for i := range len(digits) {
		weight := 3
		if (len(digits)-i)%2 == 0 {
			weight = 1
		}
		sum += weight * int(digits[i]-'0')
	}
	return byte('0' + (10-sum%10)%10)
}
