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

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

//go:embed templates
var templateFiles embed.FS

// frame is what the layout needs beside a page's content.
type frame struct {
	Day   day
	Path  string // the section of the navigation
	Back  string // where an undo of what the last form did leads
	More  bool   // the section has no place in the bar of a phone
	Stamp string
	Did   string // what the last form did
	Run   string // by which run
	Page  any
}

// said is what the pages say after a form, by done.did.
var said = map[string]string{
	"added": "It is in the house.", "changed": "Changed.", "eaten": "Noted as used up.", "wasted": "Noted as thrown away.", "moved": "Moved.",
	"rated": "Noted.", "gone": "It is gone.", "imported": "It is among the recipes.",
	"checked": "Bought, and in the house.", "listed": "The list is up to date.", "item": "It is on the list.", "back": "Back on the list.", "off": "It is off the list.",
	"read": "The photo was read.", "learned": "Learned, and put away.", "dismissed": "Dismissed.",
	"another": "Put away, too.", "same": "It is counted once.",
	"planned": "Planned.", "replanned": "The plan was changed.", "cooked": "Cooked: the stock is up to date.",
	already: "Somebody had it already.", "undone": "Undone.", "approved": "Approved and carried out.",
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

var functions = template.FuncMap{
	"amount": amount, "number": number, "money": func(float64) string { return "" }, "when": func(string) string { return "" },
	"on": func(string) string { return "" }, "clock": func(time.Time) string { return "" }, "urgency": func(string) string { return "" }, "weekday": func(string) string { return "" }, "dated": func(string) string { return "" },
	"join": strings.Join, "key": newKey, "title": title, "lower": strings.ToLower, "kcal": func(f float64) string { return strconv.Itoa(int(math.Round(f))) },
	"has":   func(list []string, s string) bool { return slices.Contains(list, s) },
	"stars": func() []string { return []string{"1", "2", "3", "4", "5"} },
	"reached": func(rating *float64, star string) bool {
		n, err := strconv.ParseFloat(star, 64)
		return err == nil && rating != nil && *rating >= n-0.5
	},
	"deref": func(s *string) string { return *s },
	"decimals": func(f *float64) string {
		if f == nil {
			return ""
		}
		return strconv.FormatFloat(*f, 'f', 2, 64)
	},
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
	f := frame{Day: v.day, Path: "/" + section, Back: "/" + section, More: !slices.Contains(inBar, section), Stamp: s.stamp, Page: data}
	if f.Path == "/shopping" {
		f.Back = listPage(v.URL.Query().Get("list"))
	}
	if run := v.URL.Query().Get("run"); v.Method == http.MethodGet && isID(run) {
		did := v.URL.Query().Get("did")
		if f.Did = said[did]; did != already {
			f.Run = run
		}
	}
	d := v.day
	t := template.Must(s.templates[name].Clone()).Funcs(template.FuncMap{
		"money": d.money, "when": d.when, "on": d.on, "clock": d.clock, "urgency": d.urgency, "weekday": d.weekday, "dated": d.dated,
	})
	var page bytes.Buffer
	if err := t.Execute(&page, f); err != nil {
		s.app.Log().Error("a page could not be rendered", "page", name, "error", err)
		http.Error(v.w, fault.New(fault.Internal, "").Message, http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(page.Bytes())
}

// isID reports whether a text can be the id of a run.
func isID(s string) bool {
	return len(s) == 36 && strings.Trim(s, "0123456789abcdef-") == ""
}

// number writes a number as a person would.
func number(f float64) string { return strconv.FormatFloat(rounded(f), 'f', -1, 64) }

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

// signs of currencies that stand before a price.
var signs = map[string]string{"EUR": "€", "USD": "$", "GBP": "£"}

// Sign is what stands before a price, "" where the currency stands behind it.
func (d day) Sign() string { return signs[d.Currency] }

func (d day) money(f float64) string {
	text := strconv.FormatFloat(f, 'f', 2, 64)
	if sign := signs[d.Currency]; sign != "" {
		return sign + text
	}
	return text + " " + d.Currency
}

// roundMoney is a price at an axis, without cents where it has none.
func (d day) roundMoney(f float64) string {
	return strings.Replace(d.money(f), ".00", "", 1)
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
		return "today"
	case n == 1:
		return "tomorrow"
	case n == -1:
		return "yesterday"
	case n > 1 && n < 14:
		return "in " + strconv.Itoa(n) + " days"
	case n < 0 && n > -14:
		return strconv.Itoa(-n) + " days ago"
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
		return "Today"
	case n == 1:
		return "Tomorrow"
	}
	return at.Format("Monday")
}

// on is a date with its weekday.
func (d day) on(date string) string {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	if strings.HasPrefix(d.Today, date[:4]) {
		return at.Format("Mon 2 Jan")
	}
	return at.Format("Mon 2 Jan 2006")
}

var isoDate = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)

// dated is a name with its dates as people write them: actions call a list after its first day.
func (d day) dated(name string) string { return isoDate.ReplaceAllStringFunc(name, d.on) }

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
	return at.Format("Mon 2 Jan 15:04")
}

// moment is a time with its day, where the household is.
func (d day) moment(at time.Time) string {
	if d.zone != nil {
		at = at.In(d.zone)
	}
	return at.Format("Mon 2 Jan, 15:04")
}

// title is a name with a capital at its start, and without hyphens.
func title(s string) string { return capital(strings.ReplaceAll(s, "-", " ")) }

// capital has a capital at its start.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
