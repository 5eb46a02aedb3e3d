package web

import (
	"bytes"
	"embed"
	"html/template"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

//go:embed templates
var templateFiles embed.FS

// frame is what the layout needs beside a page's content.
type frame struct {
	Day      day
	Language string // of the page
	Native   bool   // which is the one that the pages speak anyway
	Path     string // the section of the navigation
	Back     string // where an undo of what the last form did leads
	More     bool   // the section has no place in the bar of a phone
	Stamp    string
	Did      string // what the last form did
	Run      string // by which run
	Page     any
}

// parse reads the templates: each page with the layout. It is called when pages are served, since a
// program starts as a worker more often than as a server.
func parse() map[string]*template.Template {
	names := []string{
		"home", "more", "shelves", "shopping", "photos", "photo", "week", "served", "recipes", "import", "recipe", "edit", "reports", "household", "rules", "stores",
		"activity", "run", "plan", "offline", "fault",
	}
	out := make(map[string]*template.Template, len(names))
	for _, name := range names {
		out[name] = template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return out
}

// functions are what templates call. Those that speak are put in with the day of a page.
var functions = func() template.FuncMap {
	all := day{}.functions()
	for name, f := range plainFunctions {
		all[name] = f
	}
	return all
}()

// functions are what templates call to speak, in the language of a day's page.
func (d day) functions() template.FuncMap {
	return template.FuncMap{
		"t": d.t, "word": d.word, "words": d.words, "says": d.says, "swap": d.swap, "said": d.spokenAll, "pageTexts": func() string { return pageTexts(d.tongue) }, "inside": d.inside,
		"amount": d.amount, "num": d.number, "decimals": d.decimals, "money": d.money, "moneyPattern": d.moneyPattern,
		"when": d.when, "on": d.on, "clock": d.clock, "urgency": d.urgency, "weekday": d.weekday, "listed": d.listed, "happened": d.happened,
		"takes": func(of interface{ Takes(d day) string }) string { return of.Takes(d) },
		"text":  func(i shoppingItem) string { return i.Text(d) },
		"who":   func(of interface{ Who(d day) string }) string { return of.Who(d) },
	}
}

var plainFunctions = template.FuncMap{
	"number": number, "join": strings.Join, "key": newKey, "title": title, "kcal": func(f float64) string { return strconv.Itoa(int(math.Round(f))) },
	"has":   func(list []string, s string) bool { return slices.Contains(list, s) },
	"stars": func() []string { return []string{"1", "2", "3", "4", "5"} },
	"reached": func(rating *float64, star string) bool {
		n, err := strconv.ParseFloat(star, 64)
		return err == nil && rating != nil && *rating >= n-0.5
	},
	"deref": func(s *string) string { return *s },
	"fields": func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	},
}

// inBar are the sections in the bar of a phone.
var inBar = []string{"", "shopping", "week", "recipes", "meals"}

// render writes a page.
func (s *site) render(v *visit, status int, name string, data any) {
	section, _, _ := strings.Cut(strings.TrimPrefix(v.URL.Path, "/"), "/")
	d := v.day
	in := d.orNative()
	f := frame{Day: d, Language: in.tag, Native: in.tag == native, Path: "/" + section, Back: "/" + section, More: !slices.Contains(inBar, section), Stamp: s.stamp, Page: data}
	if f.Path == "/shopping" {
		f.Back = listPage(v.URL.Query().Get("list"))
	}
	if run := v.URL.Query().Get("run"); v.Method == http.MethodGet && isID(run) {
		did := v.URL.Query().Get("did")
		if key := "did." + did; d.knows(key) {
			f.Did = d.t(key)
		}
		if did != already {
			f.Run = run
		}
	}
	t := template.Must(s.templates[name].Clone()).Funcs(d.functions())
	var page bytes.Buffer
	if err := t.Execute(&page, f); err != nil {
		s.app.Log().Error("a page could not be rendered", "page", name, "error", err)
		http.Error(v.w, fault.New(fault.Internal, "").Message, http.StatusInternalServerError)
		return
	}
	head := v.w.Header()
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Content-Language", in.tag)
	head.Add("Vary", "Accept-Language, Cookie")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(page.Bytes())
}

// isID reports whether a text can be the id of a run.
func isID(s string) bool {
	return len(s) == 36 && strings.Trim(s, "0123456789abcdef-") == ""
}

// number writes a number as a person would.
func number(f float64) string { return strconv.FormatFloat(rounded(f), 'f', -1, 64) }

// number writes a number as the language does.
func (l *tongue) number(f float64) string { return l.comma(number(f)) }

// comma is a written number with the mark that the language has before decimals.
func (l *tongue) comma(number string) string {
	return strings.Replace(number, ".", l.t("js.decimal"), 1)
}

// decimals is a price as a form has it, "" for none.
func (l *tongue) decimals(f *float64) string {
	if f == nil {
		return ""
	}
	return l.comma(strconv.FormatFloat(*f, 'f', 2, 64))
}

// amount writes how much of something there is, in the language of the page.
func (l *tongue) amount(f float64, unit string) string {
	text := amount(f, unit)
	much, of, has := strings.Cut(text, " ")
	if !has {
		return l.comma(much)
	}
	return l.comma(much) + l.unitOf(" "+of)
}

// unitOf is a unit as it is written behind a number, with the space before it.
func (l *tongue) unitOf(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + l.word("unit", unit[1:])
}

// quoted is what somebody typed, between the marks of the language.
func (l *tongue) quoted(typed string) string {
	marked := strconv.Quote(typed)
	return l.t("quoted", marked[1:len(marked)-1])
}

// inside is a name as it stands within a sentence: not every language has small letters there.
func (l *tongue) inside(name string) string {
	if l.t("grammar.names") == "small" {
		return strings.ToLower(name)
	}
	return name
}

// rounded has at most two decimals, and none of a large number.
func rounded(f float64) float64 {
	switch a := math.Abs(f); {
	case a >= 100:
		return math.Round(f)
	case a >= 10:
		return math.Round(f*10) / 10
	}
	return math.Round(f*100) / 100
}

// amount writes how much of something there is, as exactly as a cook would measure it.
func amount(f float64, unit string) string {
	u := quantity.Unit(unit)
	switch {
	case (u == quantity.Gram || u == quantity.Millilitre) && f >= 1000:
		f = rounded(f/1000) * 1000
	case u.Dimension() == quantity.Mass || u == quantity.Millilitre || u == "l":
		f = rounded(f)
	default:
		f = portion(f)
	}
	return quantity.Of(decimal.NewFromFloat(f), u).String()
}

// portion is a number with a cook's fraction, where one is near.
func portion(f float64) float64 {
	whole := math.Floor(f)
	for _, part := range []float64{0, 0.25, 1.0 / 3, 0.5, 2.0 / 3, 0.75, 1} {
		if near := whole + part; math.Abs(f-near) <= 0.04 && near > 0 {
			return near
		}
	}
	return rounded(f)
}

// signs of currencies that stand before a price, or behind it.
var signs = map[string]string{"EUR": "€", "USD": "$", "GBP": "£"}

// moneyPattern is how a price is written, with {1} for its number.
func (d day) moneyPattern() string {
	if sign := signs[d.Currency]; sign != "" {
		return d.t("money.sign", "{1}", sign)
	}
	return d.t("money.code", "{1}", d.Currency)
}

func (d day) money(f float64) string {
	return strings.Replace(d.moneyPattern(), "{1}", d.comma(strconv.FormatFloat(f, 'f', 2, 64)), 1)
}

// roundMoney is a price at an axis, without cents where it has none.
func (d day) roundMoney(f float64) string {
	return strings.Replace(d.money(f), d.comma(".00"), "", 1)
}

// left is how many days there are from today to a date.
func (d day) left(date string) (int, bool) {
	from, err := time.Parse(time.DateOnly, d.Today)
	to, err2 := time.Parse(time.DateOnly, date)
	if err != nil || err2 != nil {
		return 0, false
	}
	return int(to.Sub(from).Hours() / 24), true
}

// when is a date as seen from today.
func (d day) when(date string) string {
	n, ok := d.left(date)
	switch {
	case !ok:
		return date
	case n == 0:
		return d.t("when.today")
	case n == 1:
		return d.t("when.tomorrow")
	case n == -1:
		return d.t("when.yesterday")
	case n > 1 && n < 14:
		return d.t("when.in", n)
	case n < 0 && n > -14:
		return d.t("when.ago", -n)
	}
	return d.on(date)
}

// weekday is a date by the name of its day, where that is near.
func (d day) weekday(date string) string {
	n, ok := d.left(date)
	at, err := time.Parse(time.DateOnly, date)
	switch {
	case !ok || err != nil:
		return date
	case n == 0:
		return capital(d.t("when.today"))
	case n == 1:
		return capital(d.t("when.tomorrow"))
	}
	return capital(d.t("weekday." + strings.ToLower(at.Weekday().String())))
}

// on is a date with its weekday.
func (d day) on(date string) string {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	if strings.HasPrefix(d.Today, date[:4]) {
		return d.date(at)
	}
	return d.t("date.year", d.date(at), at.Year())
}

// date is a day with its weekday, and without its year.
func (l *tongue) date(at time.Time) string {
	return l.t("date", l.t("weekday.short."+strconv.Itoa(int(at.Weekday()))), at.Day(), l.t("month."+strconv.Itoa(int(at.Month()))))
}

var isoDate = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)

// dated is a name with its dates as people write them: actions call a list after its first day.
func (d day) dated(name string) string { return isoDate.ReplaceAllStringFunc(name, d.on) }

// listed is the name of a list, which actions and pages give it.
func (d day) listed(name string) string { return d.dated(d.says(name)) }

// urgency is how soon something has to be used.
func (d day) urgency(date string) string {
	n, ok := d.left(date)
	switch {
	case !ok:
		return ""
	case n < 0:
		return "past"
	case n <= 1:
		return "now"
	case n <= 4:
		return "soon"
	}
	return ""
}

// clock is a time where the household is.
func (d day) clock(at time.Time) string {
	if d.zone != nil {
		at = at.In(d.zone)
	}
	if at.Format(time.DateOnly) == d.Today {
		return at.Format("15:04")
	}
	return d.date(at) + " " + at.Format("15:04")
}

// moment is a time with its day, where the household is.
func (d day) moment(at time.Time) string {
	if d.zone != nil {
		at = at.In(d.zone)
	}
	return d.date(at) + ", " + at.Format("15:04")
}

// title is a name with a capital at its start, and without hyphens.
func title(s string) string { return capital(strings.ReplaceAll(s, "-", " ")) }

// capital has a capital at its start.
func capital(s string) string {
	if s == "" {
		return s
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
