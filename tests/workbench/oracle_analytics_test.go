package main

import (
	"slices"
	"strings"
	"time"
)

var analyticsOracles = map[string]oracle{
	"analytics-01": func(_ *world, a map[string]string) []change {
		return plots(isoDay(a["natural_language_date"]), yesterday, a["plot_type"], columnOf[a["natural_language_metric"]])
	},
	"analytics-02": func(_ *world, a map[string]string) []change {
		day := isoDay(a["natural_language_date"])
		return plots(day, day, "histogram", columnOf[a["natural_language_metric"]])
	},
	"analytics-03": func(_ *world, a map[string]string) []change {
		return plots(isoDay(a["natural_language_date"]), isoDay(a["natural_language_date_max"]), "histogram", bothColumns(a)...)
	},
	"analytics-04": func(o *world, a map[string]string) []change {
		return o.plotIfEver(a, isoDay(a["natural_language_date"]))
	},
	"analytics-05": func(_ *world, a map[string]string) []change {
		return plots(a["date_min"], yesterday, "bar", bothColumns(a)...)
	},
	"analytics-06": func(o *world, a map[string]string) []change {
		return o.plotIfEver(a, daysAgo(7*whole(a["past_n_weeks"])).Format(time.DateOnly))
	},
	"analytics-07": func(o *world, a map[string]string) []change {
		return o.plotIfExceeds(a, isoDay(a["natural_language_date"]))
	},
	"analytics-08": func(o *world, a map[string]string) []change {
		return o.plotIfExceeds(a, lastNamed(a["day_of_week"]).Format(time.DateOnly))
	},
	"analytics-09": func(o *world, a map[string]string) []change {
		last := lastNamed(a["day_of_week"])
		from, to := last.AddDate(0, 0, -7).Format(time.DateOnly), last.Format(time.DateOnly)
		values := o.metric(a["natural_language_metric"], from)
		if !exceeds(values[7], values[0], a["natural_language_growth_threshold"], a["higher_or_lower"] == "higher") {
			return nil
		}
		return plots(from, to, "line", columnOf[a["natural_language_metric"]])
	},
	"analytics-10": func(o *world, a map[string]string) []change {
		since := lastNamed(a["day_of_week"]).Format(time.DateOnly)
		if !o.grewMore(a["natural_language_metric"], a["natural_language_metric_2"], since) {
			return nil
		}
		return plots(since, yesterday, "line", bothColumns(a)...)
	},
	"analytics-11": func(o *world, a map[string]string) []change {
		since := isoDay(a["natural_language_date"])
		sources := []string{"direct", "referral", "search engine", "social media"}
		slices.SortStableFunc(sources, func(x, y string) int {
			if a["most_or_least"] == "most" {
				return o.traffic(y, since) - o.traffic(x, since)
			}
			return o.traffic(x, since) - o.traffic(y, since)
		})
		return plots(since, yesterday, "line", sourceColumn(sources[0]))
	},
	"analytics-12": func(o *world, a map[string]string) []change {
		since := daysAgo(7 * whole(a["n_weeks"])).Format(time.DateOnly)
		one, two := a["traffic_source_1"], a["traffic_source_2"]
		if o.traffic(one, since) <= o.traffic(two, since) {
			return nil
		}
		return plots(since, yesterday, "bar", sourceColumn(one), sourceColumn(two))
	},
}

func plots(from, to, kind string, columns ...string) []change {
	var out []change
	for _, c := range columns {
		out = append(out, plotted(from, to, c, kind))
	}
	return out
}

func bothColumns(a map[string]string) []string {
	return []string{columnOf[a["natural_language_metric"]], columnOf[a["natural_language_metric_2"]]}
}

func sourceColumn(source string) string { return "visits_" + strings.ReplaceAll(source, " ", "_") }

func (o *world) traffic(source, since string) int {
	n := 0
	for _, v := range o.visits {
		if v.source == source && v.date >= since {
			n++
		}
	}
	return n
}

func (o *world) plotIfEver(a map[string]string, since string) []change {
	if !o.ever(a, since) {
		return nil
	}
	name, _ := metricAsked(a)
	return plots(since, yesterday, "line", columnOf[name])
}

func (o *world) plotIfExceeds(a map[string]string, since string) []change {
	values := o.metric(a["natural_language_metric"], since)
	if !exceeds(values[len(values)-1], values[0], a["natural_language_growth_threshold"], a["higher_or_lower"] == "higher") {
		return nil
	}
	return plots(since, yesterday, "line", columnOf[a["natural_language_metric"]])
}
