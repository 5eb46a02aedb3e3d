package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// Size of the drawings, in units of their own. They are as wide as a card on a phone, so that their
// text, of 13 units, is as large as the text around them; on larger screens they are drawn larger.
const (
	chartWidth  = 330
	chartHeight = 210
	chartLeft   = 46
	chartRight  = 8 // for half of the last label
	chartBottom = 28
	chartTop    = 10
)

// bar is one bar of a chart.
type bar struct {
	Label, Text         string
	Value               float64
	X, Y, Width, Height float64
	Middle              float64
	Short               string // below it, where the label is short enough
}

// bars is a chart of bars, upright ones or, where their labels are long, lying ones.
type bars struct {
	Width, Height int
	Left          float64
	Lying         bool
	Bars          []bar
	Base          float64
	Grid          []gridLine
}

type gridLine struct {
	Y    float64
	Text string
}

// mostLabels is how many labels stand side by side below a chart.
const mostLabels = 6

// newBars arranges upright bars; nil for none. Write says a value of the axis.
func newBars(values []bar, write func(float64) string) *bars {
	if len(values) == 0 {
		return nil
	}
	top := 0.0
	for _, b := range values {
		top = max(top, b.Value)
	}
	top = ceiling(top)
	base := float64(chartHeight - chartBottom)
	step := float64(chartWidth-chartLeft-chartRight) / float64(len(values))
	c := &bars{Width: chartWidth, Height: chartHeight, Left: chartLeft, Base: base, Bars: values, Grid: grid(0, top, write)}
	every := 1 + (len(values)-1)/mostLabels
	for i := range c.Bars {
		b := &c.Bars[i]
		b.Height = b.Value / top * (base - chartTop)
		b.Width, b.X, b.Y = min(step*0.7, 60), chartLeft+step*float64(i)+step/2-min(step*0.7, 60)/2, base-b.Height
		b.Middle = b.X + b.Width/2
		if (len(values)-1-i)%every == 0 {
			b.Short = b.Label
		}
	}
	return c
}

// Height of a lying bar with its label above it.
const (
	lyingStep   = 44
	lyingHeight = 16
	lyingValue  = 84 // what is kept for the values behind the bars
)

// newLyingBars arranges bars one below the other; nil for none.
func newLyingBars(values []bar) *bars {
	if len(values) == 0 {
		return nil
	}
	top := 0.0
	for _, b := range values {
		top = max(top, b.Value)
	}
	c := &bars{Width: chartWidth, Height: lyingStep * len(values), Lying: true, Bars: values}
	for i := range c.Bars {
		b := &c.Bars[i]
		b.Y, b.Height = float64(i*lyingStep)+20, lyingHeight
		b.Width = max(2, b.Value/max(top, 1)*(chartWidth-lyingValue))
		b.Middle = b.Y + lyingHeight - 3
		b.Short = fault.Clip(b.Label, 40)
	}
	return c
}

// series is one line of a chart: values at places of the lower axis.
type series struct {
	Name   string
	At     []int
	Values []float64
	Class  string
	Points string
	Dots   []dot
}

type dot struct {
	X, Y float64
	Text string
}

// lines is a chart of lines over time.
type lines struct {
	Width, Height int
	Series        []series
	Labels        []axisLabel
	Grid          []gridLine
}

type axisLabel struct {
	X    float64
	Text string
}

// newLines arranges lines; nil for none. Write says a value of the axis.
func newLines(labels []string, all []series, write func(float64) string) *lines {
	if len(labels) == 0 || len(all) == 0 {
		return nil
	}
	low, high := all[0].Values[0], all[0].Values[0]
	for _, s := range all {
		low, high = min(low, slices.Min(s.Values)), max(high, slices.Max(s.Values))
	}
	low, high = low*0.9, high*1.1
	if high == low {
		high = low + 1
	}
	base := float64(chartHeight - chartBottom)
	x := func(i int) float64 {
		return chartLeft + 12 + float64(i)*float64(chartWidth-chartLeft-12-2*chartRight)/float64(max(1, len(labels)-1))
	}
	y := func(v float64) float64 { return base - (v-low)/(high-low)*(base-chartTop) }
	c := &lines{Width: chartWidth, Height: chartHeight, Grid: grid(low, high, write)}
	every := 1 + (len(labels)-1)/mostLabels
	for i, text := range labels {
		if (len(labels)-1-i)%every == 0 {
			c.Labels = append(c.Labels, axisLabel{x(i), text})
		}
	}
	for n, s := range all {
		s.Class = fmt.Sprintf("c%d", n%5)
		var points []string
		for i, v := range s.Values {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(s.At[i]), y(v)))
			s.Dots = append(s.Dots, dot{x(s.At[i]), y(v), fmt.Sprintf("%s, %s: %s", s.Name, labels[s.At[i]], write(v))})
		}
		s.Points = strings.Join(points, " ")
		c.Series = append(c.Series, s)
	}
	return c
}

// gridLines is how many lines lie behind a chart.
const gridLines = 4

func grid(low, high float64, write func(float64) string) []gridLine {
	base := float64(chartHeight - chartBottom)
	var out []gridLine
	for i := range gridLines + 1 {
		part := float64(i) / gridLines
		out = append(out, gridLine{base - part*(base-chartTop), write(low + part*(high-low))})
	}
	return out
}

// ceiling is a round number that is not below f.
func ceiling(f float64) float64 {
	if f <= 0 {
		return 1
	}
	for unit := 1.0; ; unit *= 10 {
		for _, n := range []float64{1, 2, 4, 8} {
			if n*unit >= f {
				return n * unit
			}
		}
	}
}

// monthName shortens a month such as 2026-03.
func (l *tongue) monthName(month string) string {
	at, err := time.Parse("2006-01", month)
	if err != nil {
		return month
	}
	return l.t("month." + strconv.Itoa(int(at.Month())))
}
