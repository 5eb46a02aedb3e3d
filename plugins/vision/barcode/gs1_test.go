package barcode

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinkGTIN(t *testing.T) {
	for text, want := range map[string]string{
		"https://id.gs1.org/01/09506000134352":                         "9506000134352",
		"https://id.gs1.org/01/09506000134352/10/ABC?17=271231":        "9506000134352",
		"http://shop.example/some/path/01/9506000134352":               "9506000134352",
		"HTTPS://ID.GS1.ORG/01/00614141123452":                         "0614141123452",
		"https://id.gs1.org/01/614141123452":                           "0614141123452",
		"https://id.gs1.org/01/00000095050003":                         "95050003",
		"https://id.gs1.org/01/15400141288763":                         "15400141288763",
		"https://id.gs1.org/gtin/09506000134352":                       "9506000134352",
		"https://id.gs1.org/01/09506000134353":                         "", // check digit
		"https://id.gs1.org/01/950600013435x":                          "",
		"https://id.gs1.org/01":                                        "",
		"https://shop.example/2024/01/12":                              "",
		"https://shop.example/?q=/01/09506000134352":                   "",
		"id.gs1.org/01/09506000134352":                                 "",
		"https://%zz/01/09506000134352":                                "",
		"a text that names 01/09506000134352, which is not a web link": "",
	} {
		got, ok := linkGTIN(text)
		require.Equal(t, want, got, text)
		require.Equal(t, want != "", ok, text)
	}
}

func TestElementGTIN(t *testing.T) {
	for text, want := range map[string]string{
		"\x1d0109506000134352":                      "9506000134352",
		"\x1d010950600013435210AB-1\x1d17271231":    "9506000134352",
		"\x1d172712310109506000134352":              "9506000134352",
		"\x1d10AB-1\x1d0109506000134352":            "9506000134352",
		"\x1d310300125001954000000000000000":        "", // cut off
		"\x1d0109506000134353":                      "", // check digit
		"\x1d01095060001343":                        "",
		"0109506000134352":                          "", // not GS1
		"\x1d":                                      "",
		"\x1d" + strings.Repeat("10\x1d", 50):       "",
		"\x1d00195012345678900000" + "01" + "09506": "",
	} {
		got, ok := elementGTIN(text)
		require.Equal(t, want, got, "%q", text)
		require.Equal(t, want != "", ok, "%q", text)
	}
}

// FuzzGTIN: whatever a code holds, what is taken for a product's number is one.
func FuzzGTIN(f *testing.F) {
	f.Add("https://id.gs1.org/01/09506000134352")
	f.Add("\x1d0109506000134352")
	f.Fuzz(func(t *testing.T, text string) {
		for _, find := range []func(string) (string, bool){linkGTIN, elementGTIN} {
			gtin, ok := find(text)
			require.Equal(t, ok, gtin != "")
			if ok {
				require.Contains(t, []int{8, 13, 14}, len(gtin))
				require.True(t, validGTIN(gtin))
			}
		}
	})
}
