package web

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

const twoForms = `<main><details><form method="post" action="/lots"><input type="hidden" name="key" value="k1"><input type="hidden" name="lot" value="a"><input name="amount" value="1"></form></details>
<details><form method="post" action="/lots"><input type="hidden" name="key" value="k2"><input type="hidden" name="lot" value="b"><input name="amount" value="1"><select name="unit"><option>g</option><option value="kg">kilos</option></select><textarea name="note"></textarea><input type="checkbox" name="days" value="monday" checked><input type="checkbox" name="days" value="friday"></form></details></main>`

func TestAFormKeepsWhatWasTyped(t *testing.T) {
	page, err := html.Parse(strings.NewReader(twoForms))
	require.NoError(t, err)
	sent := url.Values{"key": {"k0"}, "lot": {"b"}, "amount": {`much "<b>`}, "unit": {"kg"}, "note": {"ripe"}, "days": {"friday"}}
	refill(page, "/lots", sent, &trouble{Message: "That is not a number.", Reasons: []string{"one"}, Hint: "Send one."}, "amount")
	var out bytes.Buffer
	require.NoError(t, html.Render(&out, page))
	first, second, _ := strings.Cut(out.String(), "</details>")
	require.NotContains(t, first, "alert")
	require.NotContains(t, first, " open")
	for _, want := range []string{
		`<details open="">`, `role="alert"`, "That is not a number.", "<li>one</li>", "Send one.", `value="k2"`, `value="much &#34;&lt;b&gt;"`, `aria-invalid="true" autofocus=""`,
		`<option value="kg" selected="">`, "ripe</textarea>", `value="monday"/>`, `value="friday" checked=""`,
	} {
		require.Contains(t, second, want)
	}
}

func TestAFormThatHasGoneSaysItAboveThePage(t *testing.T) {
	page, err := html.Parse(strings.NewReader(twoForms))
	require.NoError(t, err)
	refill(page, "/lots", url.Values{"lot": {"c"}}, &trouble{Message: "It has gone."}, "")
	var out bytes.Buffer
	require.NoError(t, html.Render(&out, page))
	require.Contains(t, out.String(), `<main><div class="notice wrong" role="alert" data-fault=""><p>It has gone.`)
}
