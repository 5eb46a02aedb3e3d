package quantity

import (
	"slices"

	"github.com/shopspring/decimal"
)

// Sum adds amounts of one food. They become one amount where the food's facts
// allow it: in g, ml or pieces if all are of that kind, otherwise in g. What does
// not convert stays apart, one amount a unit, and apart says why. Staples are
// not summed: the result is empty.
func (f Food) Sum(s System, amounts ...Amount) (sums []Amount, apart []error) {
	if f.Staple {
		return nil, nil
	}
	common, apart := f.common(s, amounts)
	return add(s, f, common, amounts), apart
}

// Balance is what a household needs of one food against what it has.
type Balance struct {
	// Missing is what to get; Left what stays when all that is needed is taken.
	Missing, Left []Amount
	// Unknown is needed, and cannot be compared with what there is; Apart says why.
	Unknown []Amount
	Apart   []error
	// Absent reports of a staple that it is needed and not there.
	Absent bool
}

// Compare sets what is needed against what is there.
func (f Food) Compare(s System, need, have []Amount) Balance {
	if f.Staple {
		return Balance{Absent: len(need) > 0 && !anyPositive(have)}
	}
	common, apart := f.common(s, slices.Concat(need, have))
	b := Balance{Apart: apart}
	needed, there := add(s, f, common, need), add(s, f, common, have)
	for _, n := range needed {
		i := slices.IndexFunc(there, func(h Amount) bool { return h.Unit == n.Unit })
		switch {
		case i >= 0:
			rest := there[i].Value.Sub(n.Value)
			there[i].Value = decimal.Max(rest, decimal.Zero)
			if rest.IsNegative() {
				b.Missing = append(b.Missing, Of(rest.Neg(), n.Unit))
			}
		case anyPositive(there):
			b.Unknown = append(b.Unknown, n)
		case n.Value.IsPositive():
			b.Missing = append(b.Missing, n)
		}
	}
	for _, h := range there {
		if h.Value.IsPositive() {
			b.Left = append(b.Left, h)
		}
	}
	return b
}

func anyPositive(amounts []Amount) bool {
	return slices.ContainsFunc(amounts, func(a Amount) bool { return a.Value.IsPositive() })
}

// common returns for each canonical unit among the amounts the unit in which it
// is summed, and why some stay apart.
func (f Food) common(s System, amounts []Amount) (map[Unit]Unit, []error) {
	into := map[Unit]Unit{}
	var units []Unit
	for _, a := range amounts {
		u := a.Canonical(s).Unit
		if _, seen := into[u]; !seen {
			into[u] = u
			units = append(units, u)
		}
	}
	if len(units) < 2 {
		return into, nil
	}
	slices.Sort(units)
	var apart []error
	for _, u := range units {
		if _, err := f.Convert(Amount{decimal.NewFromInt(1), u}, Gram, s); err != nil {
			apart = append(apart, err)
			continue
		}
		into[u] = Gram
	}
	return into, apart
}

// add sums amounts in the units that common gave them, in the order of units.
func add(s System, f Food, common map[Unit]Unit, amounts []Amount) []Amount {
	sums := map[Unit]decimal.Decimal{}
	for _, a := range amounts {
		canonical := a.Canonical(s)
		to := common[canonical.Unit]
		// A large onion weighs more than a piece: convert what was given.
		converted, err := f.Convert(a, to, s)
		if err != nil {
			converted = canonical
		}
		sums[converted.Unit] = sums[converted.Unit].Add(converted.Value)
	}
	out := make([]Amount, 0, len(sums))
	for u, v := range sums {
		out = append(out, Of(v, u))
	}
	slices.SortFunc(out, func(a, b Amount) int { return slices.Index(Units(), a.Unit) - slices.Index(Units(), b.Unit) })
	return out
}

// Packages returns how many packages hold an amount, rounded up, and what is
// left over of the last. Differences below a thousandth of a unit do not open
// another package. The error is *Unconvertible, also of a package that holds
// nothing.
func (f Food) Packages(need, pack Amount, s System) (count int64, left Amount, err error) {
	in, err := f.Convert(need, pack.Unit, s)
	if err != nil {
		return 0, Amount{}, err
	}
	if !pack.Value.IsPositive() {
		return 0, Amount{}, &Unconvertible{Food: f.Name, From: need.Unit, To: pack.Unit, Missing: "a package that holds something"}
	}
	wanted := in.Value.Round(3)
	n := wanted.DivRound(pack.Value, 2*Places).Round(Places).Ceil()
	return n.IntPart(), Of(decimal.Max(n.Mul(pack.Value).Sub(wanted), decimal.Zero), pack.Unit), nil
}
