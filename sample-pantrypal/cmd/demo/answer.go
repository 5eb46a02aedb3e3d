package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// answer is what grocery-haul.js answers.
type answer struct {
	Summary  string `json:"summary"`
	NewItems []struct {
		Name, Quantity, Location, Expires string
	} `json:"newItems"`
	UpdatedItems []struct {
		Name, Added, Now, Expires string
	} `json:"updatedItems"`
	Dinners []struct {
		Date, Name        string
		Minutes, Servings int
		UsesSoon, ToBuy   []string
	} `json:"dinners"`
	Unmatched []struct {
		Value, Kind string
	} `json:"unmatched"`
	Notes []string `json:"notes"`
}

// showAnswer prints the answer: that of the haul as tables, any other script's as
// JSON.
func showAnswer(w io.Writer, raw json.RawMessage, p palette) {
	var a answer
	if json.Unmarshal(raw, &a) != nil || a.Summary == "" {
		var pretty bytes.Buffer
		if json.Indent(&pretty, raw, "  ", "  ") != nil {
			pretty.WriteString("the script returned no answer")
		}
		fmt.Fprintf(w, "\n  %s\n", pretty.String())
		return
	}
	fmt.Fprintf(w, "\n  %s\n", p.bold(a.Summary))
	var rows [][]cell
	for _, i := range a.NewItems {
		rows = append(rows, []cell{{text: "new", tint: p.green}, {text: i.Name}, {text: i.Quantity, right: true}, {text: i.Location, tint: p.dim}, {text: until(i.Expires), tint: p.dim}})
	}
	for _, i := range a.UpdatedItems {
		rows = append(rows, []cell{{text: "more", tint: p.cyan}, {text: i.Name}, {text: i.Now, right: true}, {text: "+" + i.Added, tint: p.dim}, {text: until(i.Expires), tint: p.dim}})
	}
	for _, u := range a.Unmatched {
		rows = append(rows, []cell{{text: "unknown", tint: p.yellow}, {text: u.Value}, {text: u.Kind, right: true, tint: p.dim}, {}, {text: "no product has this code", tint: p.dim}})
	}
	section(w, p, "Put away", nil, rows)
	rows = nil
	for _, d := range a.Dinners {
		what := "uses " + list(d.UsesSoon, "what keeps")
		if len(d.ToBuy) > 0 {
			what += "; to buy: " + strings.Join(d.ToBuy, ", ")
		}
		rows = append(rows, []cell{{text: d.Date, tint: p.dim}, {text: d.Name, tint: p.bold}, {text: fmt.Sprintf("%d min", d.Minutes), right: true}, {text: fmt.Sprintf("for %d", d.Servings)}, {text: what, tint: p.dim}})
	}
	section(w, p, "Dinners, what expires soon first", nil, rows)
	for _, n := range a.Notes {
		fmt.Fprintf(w, "    %s\n", p.yellow(n))
	}
}

// section prints a titled table, or nothing if there are no rows.
func section(w io.Writer, p palette, title string, head []string, rows [][]cell) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  %s\n", p.cyan(title))
	table(w, p, head, rows)
}

func until(expires string) string {
	if expires == "keeps" {
		return expires
	}
	return "until " + expires
}

func list(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
