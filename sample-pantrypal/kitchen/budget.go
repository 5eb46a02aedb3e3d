package kitchen

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
)

// A choice of meals within a budget is found by branch and bound, day by day. What a meal adds to
// the cost depends on the others: they share the stock and the packages. So the search counts with
// a ledger of floats, which never exceeds what the list costs, and asks the list itself (buy) about
// each choice that is complete.

// maxSteps is how many meals a search looks at. A week takes a part of it, and nothing else
// bounds the time.
const maxSteps = 2_000_000

// tolerance is how far a ledger may be off by rounding: half a cent for each line of a list.
const tolerance = 0.25

// search looks for a choice within a budget.
type search struct {
	*choice
	foods   []ledgerFood
	demands [][][]demand // by day and place in its list
	open    [][]bool     // by day and place: it can be chosen
	budget  float64

	picks []int
	best  []int
	least float64
	steps int
	seen  map[[2]uint64]bool
	stop  bool
	first bool // take what is best of each day first, and end at the first choice
}

// within returns a choice that costs no more than a budget: the best of each day, as far as the
// days behind it can still be paid. If there is none it returns the cheapest choice; cheapest says
// that all others were ruled out.
func (c *choice) within(picks []int, budget float64) (best []int, ok, cheapest bool) {
	s := c.newSearch(budget)
	s.best, s.least = picks, math.Inf(1)
	if s.priced(picks) {
		s.least = c.buy(picks).cost
	}
	s.run(false)
	cheapest = s.steps < maxSteps
	if s.least > budget {
		return s.best, false, cheapest
	}
	known := s.best
	if s.run(true); s.stop {
		return s.best, true, false
	}
	return known, true, false
}

// priced reports whether a choice is one that the search would make.
func (s *search) priced(picks []int) bool {
	for day, at := range picks {
		if at >= 0 && !s.open[day][at] {
			return false
		}
	}
	return true
}

// newSearch counts the demands of all meals.
func (c *choice) newSearch(budget float64) *search {
	s := &search{choice: c, budget: budget}
	index := map[string]int{}
	for i, d := range c.days {
		s.demands, s.open = append(s.demands, nil), append(s.open, make([]bool, len(d.Recipes)))
		for at, id := range d.Recipes {
			s.demands[i] = append(s.demands[i], s.count(index, c.recipes[id], d.Servings))
			only := make([]int, i+1)
			for j := range only {
				only[j] = -1
			}
			only[i] = at
			s.open[i][at] = len(c.buy(only).unpriced) == 0
		}
		if !slices.Contains(s.open[i], true) { // no price is known of any: then of none
			for at := range s.open[i] {
				s.open[i][at] = true
			}
		}
	}
	return s
}

// run searches, until all is seen or too much.
func (s *search) run(first bool) {
	s.picks, s.steps, s.seen, s.stop, s.first = make([]int, 0, len(s.days)), 0, map[[2]uint64]bool{}, false, first
	s.visit(s.start())
}

// limit is what a choice may cost to be of interest.
func (s *search) limit() float64 {
	if s.first {
		return s.budget
	}
	return s.least - 0.01
}

func (s *search) visit(st state) {
	day := len(s.picks)
	if day == len(s.days) {
		s.arrive()
		return
	}
	if s.days[day].Fixed {
		s.step(s.after(st, day, 0), 0)
		return
	}
	type branch struct {
		at   int
		next state
	}
	var branches []branch
	for at, id := range s.days[day].Recipes {
		if !s.open[day][at] || !s.free(s.picks, day, id) {
			continue
		}
		if s.steps++; s.steps >= maxSteps {
			return
		}
		if next := s.after(st, day, at); next.cost-tolerance <= s.limit() {
			branches = append(branches, branch{at, next})
		}
	}
	if !s.first {
		slices.SortStableFunc(branches, func(a, b branch) int { return int(math.Copysign(1, a.next.cost-b.next.cost)) })
	}
	for _, b := range branches {
		if s.step(b.next, b.at); s.stop || s.steps >= maxSteps {
			return
		}
	}
	if len(branches) == 0 && !slices.ContainsFunc(s.days[day].Recipes, func(id string) bool { return s.free(s.picks, day, id) }) {
		s.step(st, -1) // nothing may be chosen, as in the choice that there was first
	}
}

// step goes on with a choice for the next day.
func (s *search) step(next state, at int) {
	s.picks = append(s.picks, at)
	defer func() { s.picks = s.picks[:len(s.picks)-1] }()
	if next.cost+s.rest(next, len(s.picks))-tolerance > s.limit() {
		return
	}
	key := s.key(next)
	if s.seen[key] {
		return
	}
	s.seen[key] = true
	s.visit(next)
}

// arrive looks at what a complete choice costs.
func (s *search) arrive() {
	cost := s.buy(s.picks).cost
	if cost >= s.least && !s.first || s.first && cost > s.budget {
		return
	}
	s.best, s.least = slices.Clone(s.picks), cost
	s.stop = s.first || cost <= s.budget
}

// key stands for a state: the same meals in another order lead to it as well.
func (s *search) key(st state) [2]uint64 {
	h := fnv.New128a()
	var word [8]byte
	put := func(f float64) {
		binary.LittleEndian.PutUint64(word[:], uint64(int64(math.Round(f*1e4))))
		_, _ = h.Write(word[:])
	}
	put(float64(len(s.picks)))
	chosen := make([]string, 0, len(s.picks))
	for i, at := range s.picks {
		if at >= 0 {
			chosen = append(chosen, s.days[i].Recipes[at])
		}
	}
	slices.Sort(chosen)
	for _, id := range chosen {
		_, _ = h.Write([]byte(id))
		_, _ = h.Write([]byte{0})
	}
	for i, left := range st.left {
		put(st.lacks[i])
		for _, l := range left {
			put(l)
		}
	}
	sum := h.Sum(nil)
	return [2]uint64{binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])}
}

// rest is what the days from one on cost at least. Of each food, what a meal takes beyond all that
// is left and spare has to be bought. Either each meal pays for that amount, or all meals that may
// be short of the food share the price of one package.
func (s *search) rest(st state, from int) float64 {
	type mark struct {
		sum, meals, days float64
		last             int
	}
	marks := make([]mark, len(s.foods))
	shorts := make([][][]float64, len(s.days))
	for day := from; day < len(s.days); day++ {
		there := make([]float64, len(s.foods))
		for food := range s.foods {
			there[food] = s.usable(st, food, day) + st.spare[food]
		}
		for at, demands := range s.demands[day] {
			var amounts []float64
			if s.open[day][at] && s.free(s.picks, day, s.days[day].Recipes[at]) {
				s.steps++
				amounts = st.shorts(demands, there)
			}
			shorts[day] = append(shorts[day], amounts)
			for i, amount := range amounts {
				if m := &marks[demands[i].food]; amount > 0 {
					m.sum, m.meals = m.sum+amount, m.meals+1
					if m.days == 0 || m.last != day {
						m.days, m.last = m.days+1, day
					}
				}
			}
		}
	}
	var lows []low
	for day := from; day < len(s.days); day++ {
		l := low{first: math.Inf(1), second: math.Inf(1)}
		for at, amounts := range shorts[day] {
			cost := 0.0
			for i, amount := range amounts {
				if amount == 0 {
					continue
				}
				food := s.demands[day][at][i].food
				f, m := s.foods[food], marks[food]
				if share := f.pack / m.days; share > m.sum/m.meals { // for every meal in the same way
					amount = share
				}
				cost += f.price * amount
			}
			if amounts != nil {
				l.add(s.days[day].Recipes[at], cost)
			}
		}
		if !math.IsInf(l.first, 1) {
			lows = append(lows, l)
		}
	}
	return s.sum(lows)
}

// low is the least that a day costs, with which recipe, and what it costs without that.
type low struct {
	recipe        string
	first, second float64
}

func (l *low) add(recipe string, cost float64) {
	switch {
	case cost < l.first:
		l.recipe, l.first, l.second = recipe, cost, l.first
	case cost < l.second:
		l.second = cost
	}
}

// sum is what days cost together at least. Of those that are cheapest with the same recipe, only
// one can have it, where no recipe comes twice: the one that saves the most by it.
func (s *search) sum(lows []low) float64 {
	sum, saved := 0.0, map[string]float64{}
	once := len(s.days) > 0 && s.dates[len(s.days)-1].Sub(s.dates[0]).Hours() < float64(24*s.apart)
	for _, l := range lows {
		if !once || math.IsInf(l.second, 1) {
			sum += l.first
			continue
		}
		sum += l.second
		saved[l.recipe] = max(saved[l.recipe], l.second-l.first)
	}
	for _, most := range saved {
		sum -= most
	}
	return sum
}
