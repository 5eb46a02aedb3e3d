package pattern

import (
	"slices"
	"strings"
	"unicode"
)

// property returns the set of \p{name}; ok is false for a name that is unknown or has no
// data here.
func property(name string) (set, bool) {
	if key, value, paired := strings.Cut(name, "="); paired {
		switch key {
		case "General_Category", "gc":
			return category(value)
		case "Script", "sc":
			return script(value)
		}
		return nil, false
	}
	if s, ok := category(name); ok {
		return s, true
	}
	return binary(name)
}

func category(name string) (set, bool) {
	if name == "" || name != strings.TrimSpace(name) {
		return nil, false
	}
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	switch name {
	case "LC":
		return of(unicode.Lu, unicode.Ll, unicode.Lt), true
	case "Cn":
		return assigned().complement(), true
	case "C":
		return union(of(unicode.C), assigned().complement()), true
	}
	if t, ok := unicode.Categories[name]; ok {
		return of(t), true
	}
	return nil, false
}

func assigned() set {
	return of(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
}

// scriptAliases are the short names of the most common scripts.
var scriptAliases = map[string]string{
	"Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Bopo": "Bopomofo", "Brai": "Braille", "Cans": "Canadian_Aboriginal",
	"Cher": "Cherokee", "Copt": "Coptic", "Cyrl": "Cyrillic", "Deva": "Devanagari", "Egyp": "Egyptian_Hieroglyphs", "Ethi": "Ethiopic",
	"Geor": "Georgian", "Goth": "Gothic", "Grek": "Greek", "Gujr": "Gujarati", "Guru": "Gurmukhi", "Hang": "Hangul", "Hani": "Han",
	"Hebr": "Hebrew", "Hira": "Hiragana", "Kana": "Katakana", "Khmr": "Khmer", "Knda": "Kannada", "Laoo": "Lao", "Latn": "Latin",
	"Mlym": "Malayalam", "Mong": "Mongolian", "Mymr": "Myanmar", "Orya": "Oriya", "Runr": "Runic", "Sinh": "Sinhala", "Syrc": "Syriac",
	"Taml": "Tamil", "Telu": "Telugu", "Thaa": "Thaana", "Tibt": "Tibetan", "Yiii": "Yi", "Zinh": "Inherited", "Qaai": "Inherited", "Zyyy": "Common",
}

func script(name string) (set, bool) {
	if long, ok := scriptAliases[name]; ok {
		name = long
	}
	t, ok := unicode.Scripts[name]
	if !ok {
		return nil, false
	}
	return of(t), true
}

// binaryAliases are the short names of the properties in Go's tables.
var binaryAliases = map[string]string{
	"AHex": "ASCII_Hex_Digit", "Alpha": "Alphabetic", "Bidi_C": "Bidi_Control", "Dep": "Deprecated", "Dia": "Diacritic",
	"Ext": "Extender", "Hex": "Hex_Digit", "IDC": "ID_Continue", "IDS": "ID_Start",
	"IDSB": "IDS_Binary_Operator", "IDST": "IDS_Trinary_Operator", "Ideo": "Ideographic", "Join_C": "Join_Control",
	"LOE": "Logical_Order_Exception", "Lower": "Lowercase", "NChar": "Noncharacter_Code_Point", "Pat_Syn": "Pattern_Syntax",
	"Pat_WS": "Pattern_White_Space", "QMark": "Quotation_Mark", "RI": "Regional_Indicator", "SD": "Soft_Dotted",
	"STerm": "Sentence_Terminal", "Term": "Terminal_Punctuation", "UIdeo": "Unified_Ideograph", "Upper": "Uppercase",
	"VS": "Variation_Selector", "space": "White_Space",
}

// tabled are the binary properties of ECMAScript that are in Go's tables.
var tabled = []string{
	"ASCII_Hex_Digit", "Bidi_Control", "Dash", "Deprecated", "Diacritic",
	"Extender", "Hex_Digit", "IDS_Binary_Operator", "IDS_Trinary_Operator", "Ideographic",
	"Join_Control", "Logical_Order_Exception", "Noncharacter_Code_Point", "Pattern_Syntax", "Pattern_White_Space",
	"Quotation_Mark", "Radical", "Regional_Indicator", "Sentence_Terminal", "Soft_Dotted",
	"Terminal_Punctuation", "Unified_Ideograph", "Variation_Selector", "White_Space",
}

func binary(name string) (set, bool) {
	if long, ok := binaryAliases[name]; ok {
		name = long
	}
	if slices.Contains(tabled, name) {
		return of(unicode.Properties[name]), true
	}
	switch name {
	case "Any":
		return everything, true
	case "ASCII":
		return set{{0, unicode.MaxASCII}}, true
	case "Assigned":
		return assigned(), true
	case "Alphabetic":
		return of(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.Other_Lowercase, unicode.Other_Uppercase), true
	case "Lowercase":
		return of(unicode.Ll, unicode.Other_Lowercase), true
	case "Uppercase":
		return of(unicode.Lu, unicode.Other_Uppercase), true
	case "Cased":
		return of(unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase), true
	case "Math":
		return of(unicode.Sm, unicode.Other_Math), true
	case "Grapheme_Extend", "Gr_Ext":
		return of(unicode.Me, unicode.Mn, unicode.Other_Grapheme_Extend), true
	case "ID_Start", "ID_Continue":
		return identifier(name == "ID_Continue"), true
	}
	return nil, false
}

func identifier(inside bool) set {
	s := of(unicode.L, unicode.Nl, unicode.Other_ID_Start)
	if inside {
		s = union(s, of(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue))
	}
	return minus(s, of(unicode.Pattern_Syntax, unicode.Pattern_White_Space))
}
