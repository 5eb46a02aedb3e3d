package barcode

import (
	"cmp"
	"math"
	"slices"
)

const (
	// agreeing is how many reads a code needs.
	agreeing = 3
	// majority is the share of the reads over a place that must agree.
	majority = 0.5
)

// cluster is all reads of one value at one place.
type cluster struct {
	format Format
	value  string
	reads  []read
	box    Box
}

// middle is the mean of the reads' middles.
func (c *cluster) middle() point {
	var m point
	for _, r := range c.reads {
		m.x += r.middle().x / float64(len(c.reads))
		m.y += r.middle().y / float64(len(c.reads))
	}
	return m
}

// confirm keeps the codes that enough reads agree on.
func confirm(reads []read) []Detection {
	clusters := gather(reads)
	slices.SortStableFunc(clusters, func(a, b *cluster) int {
		return cmp.Or(-cmp.Compare(len(a.reads), len(b.reads)), cmp.Compare(a.value, b.value), cmp.Compare(a.box.Y, b.box.Y), cmp.Compare(a.box.X, b.box.X))
	})
	// A code of 13 digits over a place wins against one of 8, which may be a part of
	// it; else the one that was read more often does.
	slices.SortStableFunc(clusters, func(a, b *cluster) int { return cmp.Compare(rank(a), rank(b)) })
	var kept []*cluster
	var out []Detection
	for _, c := range clusters {
		if len(c.reads) < agreeing || slices.ContainsFunc(kept, func(k *cluster) bool { return k.covers(c.middle()) || c.covers(k.middle()) }) {
			continue
		}
		over := 0
		for _, r := range reads {
			if c.covers(r.middle()) {
				over++
			}
		}
		share := float64(len(c.reads)) / float64(max(over, len(c.reads)))
		if share < majority {
			continue
		}
		kept = append(kept, c)
		out = append(out, Detection{Format: c.format, Value: c.value, Text: c.reads[0].text, Confidence: math.Round(share*100) / 100, Box: c.box, Reads: len(c.reads)})
	}
	return out
}

func rank(c *cluster) int {
	switch c.format {
	case EAN8, UPCE:
		return 1
	}
	return 0
}

// covers reports whether a place lies in the cluster's box.
func (c *cluster) covers(p point) bool {
	return p.x >= float64(c.box.X) && p.x <= float64(c.box.X+c.box.Width) && p.y >= float64(c.box.Y) && p.y <= float64(c.box.Y+c.box.Height)
}

// gather puts reads of one value together where they are near each other: nearer
// than half a code's length, since two codes cannot be.
func gather(reads []read) []*cluster {
	var clusters []*cluster
	for _, r := range reads {
		at := slices.IndexFunc(clusters, func(c *cluster) bool {
			return c.format == r.format && c.value == r.value && slices.ContainsFunc(c.reads, func(o read) bool {
				return o.middle().to(r.middle()) < min(o.length(), r.length())/2
			})
		})
		if at < 0 {
			clusters = append(clusters, &cluster{format: r.format, value: r.value, reads: []read{r}})
			continue
		}
		clusters[at].reads = append(clusters[at].reads, r)
	}
	for _, c := range clusters {
		var ends []point
		for _, r := range c.reads {
			ends = append(ends, r.from, r.to)
		}
		c.box = bounds(ends)
	}
	return clusters
}
