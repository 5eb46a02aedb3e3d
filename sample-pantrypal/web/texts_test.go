package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// german is a day on a German page.
func german() day {
	return day{Today: "2026-11-30", Currency: "EUR", tongue: tongues()[1]}
}

// Each language has the same texts, with the same places in them, and the plural forms that it needs.
func TestLanguagesHaveTheSameTexts(t *testing.T) {
	native := tongues()[0]
	require.Equal(t, "en", native.tag)
	require.Equal(t, "de", tongues()[1].tag)
	for _, other := range tongues()[1:] {
		require.Equal(t, slices.Sorted(maps.Keys(native.texts)), slices.Sorted(maps.Keys(other.texts)), other.tag)
		for key, forms := range native.texts {
			if strings.HasPrefix(key, saidByActions) { // an id, say, is not for people
				require.Subset(t, gapsOf(forms), gapsOf(other.texts[key]), "%s %s", other.tag, key)
			} else {
				require.Equal(t, gapsOf(forms), gapsOf(other.texts[key]), "%s %s", other.tag, key)
			}
			require.Equal(t, len(forms) > 1, len(other.texts[key]) > 1, "%s %s: one has plural forms", other.tag, key)
		}
	}
	for _, in := range tongues() {
		for key, forms := range in.texts {
			require.NotEmpty(t, forms["other"], "%s %s", in.tag, key)
			if len(forms) == 1 {
				continue
			}
			for _, n := range []int{0, 1, 2, 3, 5, 11, 21, 100} {
				require.Contains(t, forms, in.form(n), "%s %s of %d", in.tag, key, n)
			}
		}
	}
}

// gapsOf are the placeholders that a text has in any of its forms.
func gapsOf(forms text) []string {
	found := map[string]bool{}
	for _, form := range forms {
		for _, p := range placeholder.FindAllString(form, -1) {
			found[p] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

var (
	anAction = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	aTag     = regexp.MustCompile(`<[^>]*>`)
	read     = regexp.MustCompile(`\b(?:placeholder|aria-label|aria-description|title|alt)="([^"]*)"`)
	letters  = regexp.MustCompile(`\pL{2,}`)
	aCall    = regexp.MustCompile(`\b(?:t|word|words) "([^"]+)"`)
	scripted = regexp.MustCompile(`\bsay\("([^"]+)"`)
	listedIn = regexp.MustCompile(`%([a-z.A-Z]+)%`)
)

// Names, symbols and commands that are the same in each language.
var unspoken = []string{"PantryPal", "kcal", "pantrypal", "approve"}

// A template has no text of its own: what people read or hear of it is in the files.
func TestTemplatesSayNothingThemselves(t *testing.T) {
	said := func(template string) []string {
		bare := anAction.ReplaceAllString(template, " ")
		var out []string
		for _, m := range read.FindAllStringSubmatch(bare, -1) {
			out = append(out, letters.FindAllString(m[1], -1)...)
		}
		out = append(out, letters.FindAllString(regexp.MustCompile(`&\w+;`).ReplaceAllString(aTag.ReplaceAllString(bare, " "), " "), -1)...)
		return slices.DeleteFunc(out, func(word string) bool { return slices.Contains(unspoken, word) })
	}
	require.Equal(t, []string{"Find", "Milk"}, said(`<input placeholder="Find {{.}}">{{t "x.y"}} Milk`), "the check itself")
	for name, template := range sources(t, "templates", ".html") {
		require.Empty(t, said(template), name)
	}
	for name, script := range sources(t, "assets", ".js") {
		for _, set := range regexp.MustCompile(`(?:textContent|ariaLabel) = ["`+"`"+`]([^"`+"`"+`]*)`).FindAllStringSubmatch(script, -1) {
			require.NotRegexp(t, letters, set[1], name)
		}
	}
}

// groups are the texts that are found by what data has, or by what actions said.
var groups = []string{
	"action", "aisle", "allergen", "cuisine", "did", "diet", "difficulty", "field", "filter", "heading", "in", "into", "from", "meal", "month", "noun", "outof", "place", "says", "subject", "surface",
	"tag", "to", "unit", "value", "weekday",
}

// Each text that is asked for is there, and each that is there is asked for.
func TestTextsAreAskedFor(t *testing.T) {
	used := map[string]bool{}
	add := func(key, where string) {
		used[key] = true
		if !strings.Contains(key, ".") && tongues()[0].texts[key] == nil && slices.Contains(groups, key) {
			return // the group of a word
		}
		if !strings.HasSuffix(key, ".") {
			require.True(t, tongues()[0].texts[key] != nil, "%s asks for %s", where, key)
		}
	}
	for name, source := range sources(t, "templates", ".html") {
		for _, m := range aCall.FindAllStringSubmatch(source, -1) {
			add(m[1], name)
		}
	}
	for name, source := range sources(t, "assets", ".js") {
		for _, m := range scripted.FindAllStringSubmatch(source, -1) {
			add("js."+m[1], name)
		}
		for _, m := range regexp.MustCompile(`say\([^()]*\? "(\w+)" : "(\w+)"`).FindAllStringSubmatch(source, -1) {
			add("js."+m[1], name)
			add("js."+m[2], name)
		}
	}
	for _, m := range listedIn.FindAllStringSubmatch(sources(t, "assets", ".webmanifest")["manifest.webmanifest"], -1) {
		add(m[1], "the manifest")
	}
	for key, where := range askedInGo(t) {
		add(key, where)
	}
	for _, key := range []string{"language.name", "grammar.names"} {
		used[key] = true
	}
	for key := range tongues()[0].texts {
		group, _, _ := strings.Cut(key, ".")
		require.True(t, used[key] || slices.Contains(groups, group) || slices.ContainsFunc(slices.Collect(maps.Keys(used)), func(k string) bool {
			return strings.HasSuffix(k, ".") && strings.HasPrefix(key, k)
		}), "nothing asks for %s", key)
	}
}

// askedInGo are the keys in the calls of the functions that take one, and where these are. A key that
// ends with a dot is the start of several.
func askedInGo(t *testing.T) map[string]string {
	t.Helper()
	takes := map[string]int{"t": 0, "knows": 0, "refuse": 0, "failure": 2}
	out := map[string]string{}
	for name, source := range sources(t, ".", ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			called := ""
			switch of := call.Fun.(type) {
			case *ast.SelectorExpr:
				called = of.Sel.Name
			case *ast.Ident:
				called = of.Name
			}
			at, ok := takes[called]
			if !ok || len(call.Args) <= at {
				return true
			}
			arg := call.Args[at]
			if sum, ok := arg.(*ast.BinaryExpr); ok {
				arg = sum.X
			}
			if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				key, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				out[key] = name
			}
			return true
		})
	}
	require.Greater(t, len(out), 100)
	return out
}

// sources are the files of a folder, by their names.
func sources(t *testing.T, folder, ext string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(at) != ext || strings.Contains(at, "/") {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(folder, at))
		out[at] = string(raw)
		return err
	}))
	require.NotEmpty(t, out)
	return out
}

// What actions say is recognised by their own words: these stand in the sources, apart from what is
// put in.
func TestWhatActionsSayIsAsTheySayIt(t *testing.T) {
	var all strings.Builder
	for _, folder := range []string{"../actions", "../kitchen", "../rules", "../recipetext", "../../plugins/vision/barcode", "."} {
		for _, ext := range []string{".js", ".go"} {
			files, err := filepath.Glob(filepath.Join(folder, "*"+ext))
			require.NoError(t, err)
			for _, f := range files {
				raw, err := os.ReadFile(f)
				require.NoError(t, err)
				all.Write(raw)
			}
		}
	}
	for key, forms := range tongues()[0].texts {
		if !strings.HasPrefix(key, saidByActions) || key == saidByActions+"newList" { // which pages themselves name
			continue
		}
		longest := ""
		for _, part := range regexp.MustCompile(`\{\d\}|: | \(`).Split(forms["other"], -1) {
			if part = strings.Trim(part, `". `); len(part) > len(longest) {
				longest = part
			}
		}
		require.True(t, strings.Contains(all.String(), longest), "%s: nothing says %q", key, longest)
	}
}

func TestGermanIsWrittenAsGermansDo(t *testing.T) {
	d := german()
	for want, got := range map[string]string{
		"1,5 kg": d.amount(1500, "g"), "2 EL": d.amount(2, "tbsp"), "½ TL": d.amount(0.5, "tsp"), "3 Zehen": d.amount(3, "clove"), "1 Zehe": d.amount(1, "clove"), "6": d.amount(6, "piece"), "12,4": d.number(12.4),
		"3,50 €": d.money(3.5), "4 €": d.roundMoney(4), "Mo 30. Nov.": d.on("2026-11-30"), "Fr 1. Jan. 2027": d.on("2027-01-01"), "heute": d.when("2026-11-30"), "in 3 Tagen": d.when("2026-12-03"), "Morgen": d.weekday("2026-12-01"), "Donnerstag": d.weekday("2026-12-03"),
		"1 Portion": d.t("portions", 1.0), "1,5 Portionen": d.t("portions", 1.5), "2 Portionen": d.t("portions", 2.0), "0 Portionen": d.t("portions", 0),
		"Alex ist allergisch gegen Erdnüsse (Peanut butter)": d.says("Alex is allergic to peanuts (Peanut butter)"),
		"200 g feta":                     d.says("200 g feta"),
		"2 EL olive oil":                 d.says("2 tbsp olive oil"),
		"Einkauf ab Mo 30. Nov.":         d.listed("Shopping from 2026-11-30"),
		"Something that nobody expects.": d.says("Something that nobody expects."),
		"Statt 480 ml buttermilk: 450 ml milk und 1 lemon": d.t("home.instead", d.swap("480 ml buttermilk: 450 ml milk and 1 lemon")),
		"Nichts hält „Fish on Friday“ ein. Nichts passt: Quick schließt Dal, Stew und 3 andere aus; kein Rezept für Abendessen in 45 Minuten ist für alle und hat die Hälfte der Zutaten im Haus.": d.spokenAll(strings.SplitAfter(`Nothing keeps "Fish on Friday". Nothing fits: Quick rules out Dal, Stew and 3 others; no recipe for dinner within 45 minutes suits everybody and has half of its ingredients in the house.`, `". `), ""),
		"2 EL milk und 1 Bund dill":          d.swap("2 tbsp milk and 1 bunch dill"),
		"7 Vorräte geändert":                 d.t("happened.changed", 7, d.noun("PantryItem", 7)),
		"Ägypten":                            capital("ägypten"),
		"Kein Rezept heißt „{1}“ oder … {2}": strings.Replace(d.t("recipes.noneCalled", "{1}"), "wird damit gemacht.", "… {2}", 1),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, "Alex, 0,5 Portionen, vegan, Allergisch gegen Erdnüsse; Robin, 1 Portion, Mag nicht: Rosinen", d.value("members", []byte(`[{"name":"Alex","portion":0.5,"diet":"vegan","allergies":["peanuts"]},{"name":"Robin","portion":1,"dislikes":["Rosinen"]}]`)))
	require.Equal(t, "Abendessen, Mittagessen", d.value("mealTypes", []byte(`["dinner","lunch"]`)))
	require.Equal(t, `["dinner"]`, day{}.value("mealTypes", []byte(`["dinner"]`)))
	require.Equal(t, "peanuts", d.unword(" Erdnüsse", "allergen"))
	require.Equal(t, "Pilze", d.unword("Pilze", "allergen"))
	require.Equal(t, "100 CHF", strings.Replace(day{tongue: d.tongue, Currency: "CHF"}.money(100), ",00", "", 1))
	require.Equal(t, "peanuts", day{}.unword("peanuts", "allergen"))
}

// The language is the chosen one, else one that the browser asks for, else English.
func TestLanguageOfARequest(t *testing.T) {
	for _, c := range [][3]string{
		{"", "", "en"},
		{"", "de", "de"},
		{"", "de-AT,de;q=0.9,en;q=0.8", "de"},
		{"", "en-US,en;q=0.9,de;q=0.8", "en"},
		{"", "fr", "en"},
		{"", "fr,de;q=0.5", "de"},
		{"", "fi;q=x,,;;", "en"},
		{"", strings.Repeat("a-", 5000), "en"},
		{"de", "en", "de"},
		{"en", "de", "en"},
		{"xx", "de", "de"},
		{"../../etc", "", "en"},
		{"DE", "", "en"},
		{"\"><script>", "", "en"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Language", c[1])
		if c[0] != "" {
			r.Header.Set("Cookie", languageCookie+"="+c[0])
		}
		require.Equal(t, c[2], tongueOf(r).tag, "%q", c)
	}
}
