package sqltext

import (
	"strconv"
	"strings"
)

// sqliteDigits is how many significant digits of a decimal a binary number keeps, whatever
// the digits are.
const sqliteDigits = 15

// maxPlaces bounds the exponent of a decimal that is written out: no binary number has more.
const maxPlaces = 400

// decimal is the number 0.digits times ten to the power of point. Its digits neither begin
// nor end with a zero, so that equal numbers have equal decimals.
type decimal struct {
	negative bool
	digits   string
	point    int
}

// parseDecimal reads a text such as 12.50, -3 or 1.5e3.
func parseDecimal(text string) (d decimal, ok bool) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	if scientific {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > maxPlaces || n < -maxPlaces {
			return d, false
		}
		d.point = n
	}
	d.negative = strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return d, false
	}
	d.point += len(whole)
	d.digits = strings.TrimLeft(whole+fraction, "0")
	d.point -= len(whole+fraction) - len(d.digits)
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		d = decimal{}
	}
	return d, true
}

// plain writes a decimal without an exponent and without zeros that say nothing.
func (d decimal) plain() string {
	sign := ""
	if d.negative {
		sign = "-"
	}
	switch n := len(d.digits); {
	case n == 0:
		return "0"
	case d.point <= 0:
		return sign + "0." + strings.Repeat("0", -d.point) + d.digits
	case d.point >= n:
		return sign + d.digits + strings.Repeat("0", d.point-n)
	}
	return sign + d.digits[:d.point] + "." + d.digits[d.point:]
}

// DecimalDigits returns how many digits a decimal has before its point and behind it, without
// zeros that say nothing; ok is false for what is none. Both may be negative: 0.001 has -2 digits
// before its point, and 1200 has -2 behind it.
func DecimalDigits(text string) (before, behind int, ok bool) {
	d, ok := parseDecimal(text)
	if d.digits == "" {
		return 0, 0, ok
	}
	return d.point, len(d.digits) - d.point, ok
}

// PadDecimal writes a decimal with as many digits after the point as a column of some scale
// has. What has more of them, or is no decimal, stays as it is.
func PadDecimal(text string, scale int) string {
	d, ok := parseDecimal(text)
	if _, behind, _ := DecimalDigits(text); !ok || scale <= 0 || behind > scale {
		return text
	}
	plain := d.plain()
	whole, fraction, _ := strings.Cut(plain, ".")
	return whole + "." + fraction + strings.Repeat("0", scale-len(fraction))
}

// KeepsDecimal reports whether SQLite gives a decimal back unchanged from a column that makes
// a number of it, and what it gives back. Of integers that fit in 64 bits it keeps all digits,
// unless the column is one of floating-point numbers.
func KeepsDecimal(text string, floats bool) (becomes string, kept bool) {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil && !floats {
		return text, true
	}
	d, ok := parseDecimal(text)
	x, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		return text, false
	}
	back, ok := parseDecimal(strconv.FormatFloat(x, 'e', -1, 64))
	return back.plain(), ok && back == d
}

// IsDecimal implements Dialect. A number is compared with the values that SQLite has a number
// for. A text may have more digits than that, so it is compared as what plain writes: as far
// as a text of that length has that form, and is not zero-padded, say.
func (SQLite) IsDecimal(b *Builder, column func(*Builder), values []string) {
	var numbers, texts []any
	for _, v := range values {
		if _, kept := KeepsDecimal(v, false); kept {
			numbers = append(numbers, v)
		}
		if d, ok := parseDecimal(v); ok {
			texts = append(texts, d.plain())
			if d.digits == "" {
				texts = append(texts, "-0")
			}
		}
	}
	list := func(before string, values []any) {
		b.Raw(before + " IN (")
		if len(values) > 0 {
			b.List(values)
		}
		b.Raw(")")
	}
	text := func() {
		b.Raw("CAST(")
		column(b)
		b.Raw(" AS TEXT)")
	}
	b.Raw("CASE WHEN typeof(")
	column(b)
	b.Raw(") IN ('text','blob') AND length(")
	column(b)
	b.Raw(")>" + strconv.Itoa(sqliteDigits))
	for _, other := range []string{"*[^0-9.-]*", "0[0-9]*", "-0[0-9]*", ".*", "-.*"} {
		b.Raw(" AND ")
		text()
		b.Raw(" NOT GLOB '" + other + "'")
	}
	b.Raw(" THEN CASE WHEN instr(")
	text()
	b.Raw(",'.') THEN rtrim(rtrim(")
	text()
	b.Raw(",'0'),'.') ELSE ")
	text()
	list(" END", texts)
	b.Raw(" ELSE CAST(")
	column(b)
	list(" AS NUMERIC)", numbers)
	b.Raw(" END")
}

// IsDecimal implements Dialect.
func (PostgreSQL) IsDecimal(b *Builder, column func(*Builder), values []string) {
	bound := make([]any, len(values))
	for i, v := range values {
		bound[i] = v
	}
	b.Raw("CAST(")
	column(b)
	b.Raw(" AS numeric) IN (").ListWith(bound, func(v any) { b.Raw("CAST(").Arg(v).Raw(" AS numeric)") }).Raw(")")
}
