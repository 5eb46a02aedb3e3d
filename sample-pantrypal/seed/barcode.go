package seed

import "fmt"

// maxNumber is the highest product number that fits the five digits.
const maxNumber = 99999

// GTIN returns the EAN-13 of product number n (1 to 99999): the prefix 2000000 out
// of the range that GS1 leaves to single shops, n with five digits, and the
// check digit. It panics outside that range.
func GTIN(n int) string {
	if n < 1 || n > maxNumber {
		panic(fmt.Sprintf("seed: product number %d is not in 1 to %d", n, maxNumber))
	}
	digits := fmt.Sprintf("2000000%05d", n)
	return digits + string(checkDigit(digits))
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
