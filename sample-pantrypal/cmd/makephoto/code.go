package main

import (
	"fmt"
	"strings"
)

// The left-hand patterns of EAN with odd parity; the others follow from them.
var odd = [10]string{"0001101", "0011001", "0010011", "0111101", "0100011", "0110001", "0101111", "0111011", "0110111", "0001011"}

// parity says for each first digit of EAN-13 which left-hand digits are even.
var parity = [10]string{"oooooo", "ooeoee", "ooeeoe", "ooeeeo", "oeooee", "oeeooe", "oeeeoo", "oeoeoe", "oeoeeo", "oeeoeo"}

// modules returns a code's bars, 1 is dark.
func modules(code string) (string, error) {
	if strings.Trim(code, "0123456789") != "" {
		return "", fmt.Errorf("the code %q has characters other than digits", code)
	}
	switch len(code) {
	case 8, 12, 13:
	default:
		return "", fmt.Errorf("the code %q has %d digits; want 13, 12 or 8", code, len(code))
	}
	if want := checkDigit(code[:len(code)-1]); code[len(code)-1] != want {
		return "", fmt.Errorf("the code %q ends in %c; its check digit is %c", code, code[len(code)-1], want)
	}
	if len(code) == 12 {
		code = "0" + code
	}
	left, kinds := code[:4], "oooo"
	if len(code) == 13 {
		left, kinds = code[1:7], parity[code[0]-'0']
	}
	var b strings.Builder
	b.WriteString("101")
	for i, digit := range left {
		if kinds[i] == 'o' {
			b.WriteString(odd[digit-'0'])
		} else {
			b.WriteString(reversed(inverted(odd[digit-'0'])))
		}
	}
	b.WriteString("01010")
	for _, digit := range code[len(code)-len(left):] {
		b.WriteString(inverted(odd[digit-'0']))
	}
	b.WriteString("101")
	return b.String(), nil
}

// checkDigit returns the digit that completes a code.
func checkDigit(body string) byte {
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

func inverted(s string) string { return strings.NewReplacer("0", "1", "1", "0").Replace(s) }

func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}
