package web

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

type wasted struct {
	Name  string  `json:"name"`
	Times int     `json:"times"`
	Cost  float64 `json:"cost"`
}

type reportsPage struct {
	Waste struct {
		Total  wasted `json:"total"`
		Months []struct {
			Month string `json:"month"`
			Sum   wasted `json:"sum"`
		} `json:"months"`
		Aisles []wasted `json:"aisles"`
		Foods  []wasted `json:"foods"`
	}
	WasteChart *bars

	Food   string
	Foods  []food
	Prices struct {
		Name     string  `json:"name"`
		Per      *string `json:"per"`
		Cheapest *string `json:"cheapest"`
		Stores   []struct {
			Store  string   `json:"store"`
			Now    float64  `json:"now"`
			Change *float64 `json:"changePercent"`
			Months []struct {
				Month   string  `json:"month"`
				Average float64 `json:"average"`
			} `json:"months"`
		} `json:"stores"`
	}
	NoPrices   string // why there are none
	PriceChart *lines

	Nutrition struct {
		Days    int `json:"days"`
		Members []struct {
			Name   string    `json:"name"`
			PerDay nutrients `json:"perDay"`
			Target *float64  `json:"targetKcal"`
		} `json:"members"`
		Meals []struct {
			Date       string    `json:"date"`
			Name       string    `json:"name"`
			PerPortion nutrients `json:"perPortion"`
		} `json:"meals"`
	}
	MealChart *bars
}

func reports(v *visit) (any, error) {
	p := &reportsPage{Food: strings.TrimSpace(v.URL.Query().Get("food"))}
	if p.Food == "" {
		p.Food = "milk"
	}
	if _, err := v.action("waste", map[string]any{}, &p.Waste); err != nil {
		return nil, err
	}
	var months []bar
	for _, m := range p.Waste.Months {
		months = append(months, bar{Label: v.day.monthName(m.Month), Value: m.Sum.Cost, Text: v.day.money(m.Sum.Cost)})
	}
	p.WasteChart = newBars(months, v.day.roundMoney)
	_, err := v.action("prices", map[string]any{"food": p.Food}, &p.Prices)
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.ExecutionError, f.Code == fault.InvalidPayload: // the rest of the page is as good without
		p.NoPrices = sentence(v.day.says(f.Message))
	default:
		return nil, err
	}
	p.PriceChart = p.priceLines(v.day)
	if p.Foods, err = allFoods(v); err != nil {
		return nil, err
	}
	if _, err := v.action("nutrition", map[string]any{}, &p.Nutrition); err != nil {
		return nil, err
	}
	var meals []bar
	for _, m := range p.Nutrition.Meals {
		meals = append(meals, bar{Label: m.Name, Value: m.PerPortion.EnergyKcal, Text: v.day.number(m.PerPortion.EnergyKcal) + " kcal"})
	}
	p.MealChart = newLyingBars(meals)
	return p, nil
}

// priceLines draws a line for each store.
func (p *reportsPage) priceLines(d day) *lines {
	var months []string
	for _, s := range p.Prices.Stores {
		for _, m := range s.Months {
			if !slices.Contains(months, m.Month) {
				months = append(months, m.Month)
			}
		}
	}
	slices.Sort(months)
	var drawn []series
	for _, s := range p.Prices.Stores {
		one := series{Name: s.Store}
		for _, m := range s.Months {
			one.At, one.Values = append(one.At, slices.Index(months, m.Month)), append(one.Values, m.Average)
		}
		drawn = append(drawn, one)
	}
	labels := make([]string, len(months))
	for i, m := range months {
		labels[i] = d.monthName(m)
	}
	return newLines(labels, drawn, d.money)
}
