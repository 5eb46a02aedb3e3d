package catalogue

import (
	"strings"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// Product is a package of a food with a barcode. Brands are made up, and codes lie
// in the ranges that GS1 leaves to single shops, so that no real product is
// misnamed.
type Product struct {
	Code    string // EAN-13, EAN-8 or UPC-A, with its check digit
	Food    string // name of a food
	Name    string
	Brand   string
	Package quantity.Amount
	Price   decimal.Decimal // at the first day of the year of prices, in a store of level 1
}

var productColumns = []string{"code", "food", "name", "brand", "amount", "unit", "price"}

func (r *record) product() Product {
	return Product{
		Code: r.text("code"), Food: r.text("food"), Name: r.text("name"), Brand: r.text("brand"),
		Package: quantity.Of(r.number("amount"), r.unit("unit")), Price: r.number("price"),
	}
}

// checkDigit is GS1's: weights 3 and 1 from the right. The digits have none yet.
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

// inStore reports whether a code is a number with its check digit, out of a range
// for use inside a shop: EAN-13 with 20 to 29, UPC-A with 2, EAN-8 with 0 or 2.
func inStore(code string) bool {
	if strings.Trim(code, "0123456789") != "" {
		return false
	}
	switch {
	case len(code) == 13 && code[0] == '2', len(code) == 12 && code[0] == '2', len(code) == 8 && (code[0] == '0' || code[0] == '2'):
		return checkDigit(code[:len(code)-1]) == code[len(code)-1]
	}
	return false
}

func (p *problems) product(c *Catalogue, product Product) {
	at := "products.csv: " + product.Code
	p.when(!inStore(product.Code), "%s is not an EAN-13, EAN-8 or UPC-A for use inside a shop, or its check digit is wrong", at)
	f, ok := c.Food(product.Food)
	p.when(!ok, "%s: %s is not in foods.csv", at, product.Food)
	p.when(!product.Package.Value.IsPositive() || !product.Price.IsPositive(), "%s has no contents or no price", at)
	unit := product.Package.Unit
	p.when(unit != quantity.Gram && unit != quantity.Millilitre && unit != quantity.Piece && unit != "bunch", "%s is sold by the %s; want g, ml, piece or bunch", at, unit)
	if ok && !f.Staple {
		_, err := f.Facts().Convert(product.Package, quantity.Gram, quantity.Metric)
		p.when(err != nil, "%s: %v", at, err)
	}
}

// ProductID is the id that a product of the catalogue has in every set.
func ProductID(code string) string { return "product-" + Barcode(code) }

// Barcode is a code as scanners return it: a UPC-A has 13 digits with its leading zero.
func Barcode(code string) string {
	if len(code) == 12 {
		return "0" + code
	}
	return code
}
