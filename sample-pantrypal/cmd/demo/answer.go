package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// answer is what evening.js answers: the outputs of its actions.
type answer struct {
	Haul *struct {
		Summary string `json:"summary"`
		Lots    []struct {
			Name, Unit, Place string
			Amount            float64
			BestBefore        *string
		} `json:"lots"`
		Open []struct{ Code, Kind string } `json:"open"`
	} `json:"haul"`
	Dinner struct {
		Suggestions []struct {
			Name            string
			Minutes         int
			Servings        float64
			UsesSoon, ToBuy []string
		} `json:"suggestions"`
		Note string `json:"note"`
	} `json:"dinner"`
	Plan struct {
		Meals []struct {
			Date, Name      string
			UsesSoon, ToBuy []string
		} `json:"meals"`
	} `json:"plan"`
	List struct {
		Items []struct {
			Name, Aisle, Text string
			Cost              *float64
			For               []string
		} `json:"items"`
		EstimatedCost *float64 `json:"estimatedCost"`
	} `json:"list"`
	Cooked *struct {
		Name string
		Took []struct {
			Name, Text, Unit string
			Left             float64
		} `json:"took"`
		NotThere []string `json:"notThere"`
	} `json:"cooked"`
}

// showAnswer prints the answer: that of the evening as tables, any other script's as
// JSON.
func showAnswer(w io.Writer, raw json.RawMessage, p palette) {
	var a answer
	if json.Unmarshal(raw, &a) != nil || a.Haul == nil {
		var pretty bytes.Buffer
		if json.Indent(&pretty, raw, "  ", "  ") != nil {
			pretty.WriteString("the script returned no answer")
		}
		fmt.Fprintf(w, "\n  %s\n", pretty.String())
		return
	}
	fmt.Fprintf(w, "\n  %s\n", p.bold(a.Haul.Summary))
	var rows [][]cell
	for _, l := range a.Haul.Lots {
		rows = append(rows, []cell{{text: "new", tint: p.green}, {text: l.Name}, {text: number(l.Amount) + " " + l.Unit, right: true}, {text: l.Place, tint: p.dim}, {text: until(l.BestBefore), tint: p.dim}})
	}
	for _, u := range a.Haul.Open {
		rows = append(rows, []cell{{text: "unknown", tint: p.yellow}, {text: u.Code}, {text: u.Kind, right: true, tint: p.dim}, {}, {text: "open until learn-product says what it is", tint: p.dim}})
	}
	section(w, p, "Put away", nil, rows)
	a.showDinner(w, p)
}

func (a answer) showDinner(w io.Writer, p palette) {
	var rows [][]cell
	for _, d := range a.Dinner.Suggestions {
		what := "uses " + list(d.UsesSoon, "what keeps")
		if len(d.ToBuy) > 0 {
			what += "; to buy: " + strings.Join(d.ToBuy, ", ")
		}
		rows = append(rows, []cell{{text: d.Name, tint: p.bold}, {text: fmt.Sprintf("%d min", d.Minutes), right: true}, {text: "for " + number(d.Servings)}, {text: what, tint: p.dim}})
	}
	section(w, p, "Dinner tonight, what expires soon first", nil, rows)
	if a.Dinner.Note != "" {
		fmt.Fprintf(w, "    %s\n", p.yellow(a.Dinner.Note))
	}
	rows = nil
	for _, m := range a.Plan.Meals {
		rows = append(rows, []cell{{text: m.Date, tint: p.dim}, {text: m.Name, tint: p.bold}, {text: "to buy: " + list(m.ToBuy, "nothing"), tint: p.dim}})
	}
	section(w, p, "The next days", nil, rows)
	rows = nil
	for _, i := range a.List.Items {
		cost := "no price"
		if i.Cost != nil {
			cost = fmt.Sprintf("%.2f", *i.Cost)
		}
		rows = append(rows, []cell{{text: i.Aisle, tint: p.dim}, {text: i.Name}, {text: i.Text}, {text: cost, right: true}})
	}
	title := "Shopping list"
	if a.List.EstimatedCost != nil {
		title += fmt.Sprintf(", about %.2f", *a.List.EstimatedCost)
	}
	section(w, p, title, nil, rows)
	if a.Cooked == nil {
		return
	}
	rows = nil
	for _, t := range a.Cooked.Took {
		rows = append(rows, []cell{{text: t.Name}, {text: t.Text, right: true}, {text: number(t.Left) + " " + t.Unit + " left", tint: p.dim}})
	}
	section(w, p, "Cooked: "+a.Cooked.Name+", oldest lots first", nil, rows)
	if len(a.Cooked.NotThere) > 0 {
		fmt.Fprintf(w, "    %s\n", p.yellow("Not in the house: "+strings.Join(a.Cooked.NotThere, ", ")+"."))
	}
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// section prints a titled table, or nothing if there are no rows.
func section(w io.Writer, p palette, title string, head []string, rows [][]cell) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  %s\n", p.cyan(title))
	table(w, p, head, rows)
}

func until(day *string) string {
	if day == nil {
		return "keeps"
	}
	return "until " + *day
}

func list(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
