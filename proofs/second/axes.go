package main

import (
	"math"
	"math/big"
)

// FORMAT 2.1 to 2.3: the features, their indices and what a change costs.

const (
	maxFeatures = 10_000
	maxLevels   = 10_000
)

var one = big.NewInt(1)

// axis is a feature. Of a grid the value of an index is an integer over `below`; costs are integers over the common
// denominator of the statement: with `steps` the difference of two values (or levels), p = jump [steps > 0] + slope steps
// and t = topSlope steps; "missing" costs missSum and missTop.
type axis struct {
	levels  bool
	ordered bool
	count   int
	allowed *big.Int // a mask

	grid                string
	step, extra, scale  *big.Rat
	extraIndex          *big.Int
	lower, upper, start *big.Int
	top                 *big.Int // the highest index that a box holds, 5.3
	below               *big.Int

	weight         *big.Rat
	missing        *big.Int // its index, or nil
	missingAllowed bool
	cost           *big.Rat

	jump, slope, topSlope, missSum, missTop *big.Int
}

// span is a set of indices of one axis; least costs are kept once they are known.
type span struct {
	lo, hi   *big.Int // a grid
	mask     *big.Int // levels
	sum, top *big.Int
}

func readAxis(value any) *axis {
	fields, ok := value.(map[string]any)
	require(ok, "a feature is an object")
	if fields["kind"] == "levels" {
		return readLevels(value)
	}
	return readGrid(value)
}

func readLevels(value any) *axis {
	f := object(value, "name", "weight", "kind", "count", "allowed", "start", "ordered", "missing?")
	text(f["name"])
	a := &axis{levels: true, weight: notNegative(f["weight"]), ordered: boolean(f["ordered"])}
	if integer(f["count"]).Cmp(big.NewInt(maxLevels)) > 0 {
		giveUp("too large: more than %d levels", maxLevels)
	}
	a.count = small(f["count"], 1, maxLevels)
	a.allowed = a.mask(f["allowed"])
	require(a.allowed.Sign() != 0, "no level is allowed")
	a.start = big.NewInt(int64(small(f["start"], 0, a.count-1)))
	if missing, there := f["missing"]; there {
		a.cost = notNegative(object(missing, "cost")["cost"])
		a.missing = big.NewInt(int64(a.count - 1))
	}
	return a
}

// mask reads a set of levels.
func (a *axis) mask(value any) *big.Int {
	mask := integer(value)
	require(mask.Sign() >= 0 && mask.BitLen() <= a.count, "a mask of levels that there are not")
	return mask
}

func readGrid(value any) *axis {
	f := object(value, "name", "weight", "kind", "grid", "step", "extra", "lower", "upper", "start", "scale", "missing?")
	text(f["name"])
	oneOf(f["kind"], "grid", "levels")
	a := &axis{weight: notNegative(f["weight"]), grid: oneOf(f["grid"], "step", "float64", "float32")}
	a.step, a.scale = positive(f["step"]), positive(f["scale"])
	a.lower, a.upper, a.start = integer(f["lower"]), integer(f["upper"]), integer(f["start"])
	require(a.lower.Cmp(a.upper) <= 0, "lower is above upper")
	if f["extra"] != nil {
		require(a.grid == "step", "only a grid of steps has an extra value")
		a.extra = rational(f["extra"])
		a.extraIndex = floor(quo(a.extra, a.step))
		a.extraIndex.Add(a.extraIndex, one)
	}
	a.top = a.upper
	if missing, there := f["missing"]; there {
		m := object(missing, "cost", "allowed")
		a.cost, a.missingAllowed = notNegative(m["cost"]), boolean(m["allowed"])
		a.missing = new(big.Int).Add(a.upper, one)
		if a.missingAllowed {
			a.top = a.missing
		}
	}
	a.index(f["lower"])
	a.index(f["upper"])
	a.index(f["start"])
	a.below = a.denominator()
	return a
}

// index reads an index that has a value, or stands for "missing".
func (a *axis) index(value any) *big.Int {
	if a.levels {
		return big.NewInt(int64(small(value, 0, a.count-1)))
	}
	i := integer(value)
	if a.grid != "step" && !a.isMissing(i) {
		limit := uint64(math.Float64bits(math.MaxFloat64))
		if a.grid == "float32" {
			limit = uint64(math.Float32bits(math.MaxFloat32))
		}
		require(i.CmpAbs(new(big.Int).SetUint64(limit)) <= 0, "an index that is no float")
	}
	return i
}

func (a *axis) isMissing(i *big.Int) bool { return a.missing != nil && a.missing.Cmp(i) == 0 }

// denominator of all values of a grid.
func (a *axis) denominator() *big.Int {
	switch a.grid {
	case "float64":
		return new(big.Int).Lsh(one, 1074)
	case "float32":
		return new(big.Int).Lsh(one, 149)
	}
	d := lcm(one, a.step)
	if a.extra != nil {
		d = lcm(d, a.extra)
	}
	return d
}

// units returns the value of an index of a grid, times the axis's denominator. The index is not "missing".
func (a *axis) units(i *big.Int) *big.Int {
	if a.grid != "step" {
		bits := new(big.Int).Abs(i).Uint64()
		x, e := math.Float64frombits(bits), 1074
		if a.grid == "float32" {
			x, e = float64(math.Float32frombits(uint32(bits))), 149
		}
		n := shifted(x, e)
		if i.Sign() < 0 {
			n.Neg(n)
		}
		return n
	}
	if a.extra != nil {
		switch i.Cmp(a.extraIndex) {
		case 0:
			return times(a.extra, a.below)
		case 1:
			i = new(big.Int).Sub(i, one)
		}
	}
	unit := new(big.Int).Div(a.below, a.step.Denom())
	unit.Mul(unit, a.step.Num())
	return unit.Mul(unit, i)
}

// value of an index of a grid.
func (a *axis) value(i *big.Int) *big.Rat { return new(big.Rat).SetFrac(a.units(i), a.below) }

// whole box: all allowed indices.
func (a *axis) all() *span {
	if a.levels {
		return &span{mask: a.allowed}
	}
	return &span{lo: a.lower, hi: a.top}
}

// span reads a set of indices.
func (a *axis) span(value any) *span {
	if a.levels {
		return &span{mask: a.mask(value)}
	}
	ends := listOf(value, 2)
	return &span{lo: integer(ends[0]), hi: integer(ends[1])}
}

func (s *span) empty() bool {
	if s.mask != nil {
		return s.mask.Sign() == 0
	}
	return s.lo.Cmp(s.hi) > 0
}

func (s *span) has(i *big.Int) bool {
	if s.mask != nil {
		return s.mask.Bit(int(i.Int64())) == 1
	}
	return s.lo.Cmp(i) <= 0 && i.Cmp(s.hi) <= 0
}

// within says whether every index of s is in other.
func (s *span) within(other *span) bool {
	if s.mask != nil {
		return new(big.Int).AndNot(s.mask, other.mask).Sign() == 0
	}
	return s.empty() || other.lo.Cmp(s.lo) <= 0 && s.hi.Cmp(other.hi) <= 0
}

// meet returns the indices in both.
func (s *span) meet(other *span) *span {
	if s.mask != nil {
		return &span{mask: new(big.Int).And(s.mask, other.mask)}
	}
	lo, hi := s.lo, s.hi
	if other.lo.Cmp(lo) > 0 {
		lo = other.lo
	}
	if other.hi.Cmp(hi) < 0 {
		hi = other.hi
	}
	if lo == s.lo && hi == s.hi {
		return s
	}
	return &span{lo: lo, hi: hi}
}

// single returns the only index of a span that is not empty, or nil.
func (s *span) single() *big.Int {
	if s.mask != nil {
		low := int(s.mask.TrailingZeroBits())
		if s.mask.BitLen() == low+1 {
			return big.NewInt(int64(low))
		}
		return nil
	}
	if s.lo.Cmp(s.hi) == 0 {
		return s.lo
	}
	return nil
}

// price returns p and t of the change between two indices.
func (a *axis) price(i, from *big.Int) (*big.Int, *big.Int) {
	if i.Cmp(from) == 0 {
		return new(big.Int), new(big.Int)
	}
	if a.isMissing(i) || a.isMissing(from) {
		return a.missSum, a.missTop
	}
	steps := new(big.Int)
	switch {
	case !a.levels:
		steps.Sub(a.units(i), a.units(from))
		steps.Abs(steps)
	case a.ordered:
		steps.Sub(i, from)
		steps.Abs(steps)
	default:
		steps.Set(one)
	}
	top := new(big.Int).Mul(a.topSlope, steps)
	if steps.Sign() != 0 {
		steps.Mul(steps, a.slope)
		steps.Add(steps, a.jump)
	}
	return steps, top
}

// candidates are indices of a span among which a cost from the start is least, and greatest, and on a grid any
// function k value + cost least.
func (a *axis) candidates(s *span, from *big.Int) []*big.Int {
	var out []*big.Int
	if a.levels {
		for i := 0; i < s.mask.BitLen(); i++ {
			if s.mask.Bit(i) == 1 {
				out = append(out, big.NewInt(int64(i)))
			}
		}
		return out
	}
	hi := s.hi
	if a.missing != nil && hi.Cmp(a.missing) == 0 {
		out = append(out, hi)
		hi = new(big.Int).Sub(hi, one)
	}
	if s.lo.Cmp(hi) <= 0 {
		out = append(out, s.lo, hi)
		if s.lo.Cmp(from) < 0 && from.Cmp(hi) < 0 {
			out = append(out, from)
		}
	}
	return out
}

// least returns the least p and the least t from the start over a span that is not empty.
func (a *axis) least(s *span) (*big.Int, *big.Int) {
	if s.sum == nil {
		if s.has(a.start) {
			s.sum, s.top = new(big.Int), new(big.Int)
			return s.sum, s.top
		}
		for _, i := range a.candidates(s, a.start) {
			p, t := a.price(i, a.start)
			if s.sum == nil || p.Cmp(s.sum) < 0 {
				s.sum = p
			}
			if s.top == nil || t.Cmp(s.top) < 0 {
				s.top = t
			}
		}
	}
	return s.sum, s.top
}

// greatest returns the greatest p and the greatest t from an index over a span that is not empty.
func (a *axis) greatest(s *span, from *big.Int) (sum, top *big.Int) {
	for _, i := range a.candidates(s, from) {
		p, t := a.price(i, from)
		if sum == nil || p.Cmp(sum) > 0 {
			sum = p
		}
		if top == nil || t.Cmp(top) > 0 {
			top = t
		}
	}
	return sum, top
}
