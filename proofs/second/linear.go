package main

import "math/big"

// FORMAT 6.13: lower bounds of linear functions over a state.

// linear is a function Σ coefficients[i] x[i] + constant; both are integers, over 2^exponent and 2^constantExponent.
type linear struct {
	coefficients     []*big.Int
	exponent         int
	constant         *big.Int
	constantExponent int
	endless          bool // nothing bounds it from below: a chord is needed of an interval without a lower end
}

// plus adds n * 2^-exponent to the constant.
func (f *linear) plus(n *big.Int, exponent int) {
	if exponent > f.constantExponent {
		f.constant, f.constantExponent = rescale(f.constant, f.constantExponent, exponent), exponent
	}
	f.constant = new(big.Int).Add(f.constant, rescale(n, exponent, f.constantExponent))
}

// shorten drops trailing zeros that all coefficients share.
func (f *linear) shorten() {
	zeros := f.exponent
	for _, n := range f.coefficients {
		if n.Sign() != 0 {
			if z := int(n.TrailingZeroBits()); z < zeros {
				zeros = z
			}
		}
	}
	for i, n := range f.coefficients {
		f.coefficients[i] = rescale(n, zeros, 0)
	}
	f.exponent -= zeros
}

const (
	slopeBits    = 64  // slopes are multiples of 2^-64, of the chord too
	intervalBits = 100 // ends of intervals
	factorBits   = 160 // λ, μ and shares
)

// hints are what a dual names beside the goal's factors: slopes, phases and shares of the maximum.
type hints struct {
	slopes map[[2]int]*big.Int
	phases map[[2]int]*big.Int
	shares map[int]*big.Int
	pull   *pull
	ruled  *pull          // of rules
	push   *big.Int       // for each feature that changes, or nil
	own    bool           // slopes are chosen by the sizes of l and u, for `bounds`, or as lines says
	lines  map[[2]int]int // 0 or 1
	aim    *[2]int        // a unit whose input counts by itself, for `tighten`
	sign   int64          // 1 or -1: how
}

// before replaces a function of the inputs z of a layer by one of the layer's own inputs: z = Σ W a + b.
func (f *linear) before(l *layer) *linear {
	out := &linear{exponent: f.exponent + l.exponent, constant: f.constant, constantExponent: f.constantExponent}
	total := new(big.Int)
	for o, v := range f.coefficients {
		if v.Sign() != 0 {
			total.Add(total, new(big.Int).Mul(v, l.bias[o]))
		}
	}
	out.plus(total, out.exponent)
	for _, row := range l.weights {
		sum := new(big.Int)
		for o, v := range f.coefficients {
			if v.Sign() != 0 && row[o].Sign() != 0 {
				sum.Add(sum, new(big.Int).Mul(v, row[o]))
			}
		}
		out.coefficients = append(out.coefficients, sum)
	}
	out.shorten()
	return out
}

// relax replaces a function of the outputs of a layer with "relu" by one of their inputs z that is not above it.
func (f *linear) relax(k int, units []unitState, h *hints) *linear {
	shift := 2*slopeBits + factorBits
	out := &linear{exponent: f.exponent + shift, constant: f.constant, constantExponent: f.constantExponent}
	for i, v := range f.coefficients {
		unit := units[i]
		z := new(big.Int)
		if v.Sign() != 0 {
			z = f.relaxUnit(out, v, unit, h.slope([2]int{k, i}, v, unit))
		}
		if mu := h.phases[[2]int{k, i}]; mu != nil {
			mu = rescale(mu, factorBits, out.exponent)
			if unit.phase > 0 {
				mu.Neg(mu)
			}
			z.Add(z, mu)
		}
		if h.aim != nil && *h.aim == [2]int{k, i} {
			z.Add(z, rescale(big.NewInt(h.sign), 0, out.exponent))
		}
		out.coefficients = append(out.coefficients, z)
	}
	out.shorten()
	return out
}

// slope of a unit in multiples of 2^-64, or nil.
func (h *hints) slope(at [2]int, v *big.Int, unit unitState) *big.Int {
	if !h.own {
		return h.slopes[at]
	}
	if v.Sign() < 0 || unit.low != nil && unit.low.Sign() >= 0 {
		return nil
	}
	if said, ok := h.lines[at]; ok {
		if said == 0 {
			return nil
		}
		return new(big.Int).Lsh(one, slopeBits)
	}
	if unit.high == nil || unit.low != nil && unit.high.CmpAbs(unit.low) >= 0 {
		return new(big.Int).Lsh(one, slopeBits)
	}
	return nil
}

// relaxUnit returns the coefficient of z, over 2^out.exponent, that stands for v max(z, 0), and adds to out's constant.
func (f *linear) relaxUnit(out *linear, v *big.Int, unit unitState, t *big.Int) *big.Int {
	if unit.high != nil && unit.high.Sign() <= 0 {
		return new(big.Int)
	}
	positive := unit.low != nil && unit.low.Sign() >= 0
	full := new(big.Int).Lsh(one, slopeBits)
	if positive && (v.Sign() < 0 || t == nil) {
		return rescale(v, f.exponent, out.exponent)
	}
	if t == nil {
		t = new(big.Int)
	}
	size, z := new(big.Int).Abs(v), new(big.Int)
	over := new(big.Int).Abs(t)
	if t.Sign() >= 0 {
		z = rescale(new(big.Int).Mul(size, t), f.exponent+slopeBits, out.exponent)
	}
	if v.Sign() < 0 {
		over.Add(over, full)
	} else if t.Sign() >= 0 {
		over.Sub(t, full)
		if over.Sign() <= 0 {
			return z
		}
	}
	chorded := over.Mul(over, size) // over 2^(exponent + 64): that much of the chord goes
	slope, low := full, new(big.Int)
	if !positive {
		if unit.low == nil {
			out.endless = true
			return z
		}
		slope, low = unit.chord()
	}
	chorded.Mul(chorded, slope)
	z.Sub(z, rescale(chorded, f.exponent+2*slopeBits, out.exponent))
	out.plus(new(big.Int).Mul(chorded, low), f.exponent+2*slopeBits+intervalBits)
	return z
}

// chord returns the slope of the line through (l, 0) and (u, u), rounded up to a multiple of 2^-64, and l; without u it is 1.
func (unit unitState) chord() (slope, low *big.Int) {
	if unit.high == nil {
		return new(big.Int).Lsh(one, slopeBits), unit.low
	}
	length := new(big.Int).Sub(unit.high, unit.low)
	q := new(big.Rat).SetFrac(new(big.Int).Lsh(unit.high, slopeBits), length)
	return ceil(q), unit.low
}

// exactColumns are the columns without rounding: integers over a denominator that all costs share.
type exactColumns struct {
	denominator *big.Int
	factor      []*big.Int   // of the value's units, by column
	offset      []*big.Int   // by column
	tables      [][]*big.Int // by column and level
	costs       *big.Int     // the denominator over that of costs
	claim       *big.Rat     // q times the denominator
}

func (w *world) exactColumns() *exactColumns {
	x := &exactColumns{denominator: new(big.Int).Set(w.common)}
	factors, offsets := make([]*big.Rat, len(w.columns)), make([]*big.Rat, len(w.columns))
	for i, c := range w.columns {
		if x.denominator.BitLen() > maxDenominatorBits {
			giveUp("too large: the common denominator of columns and costs has more than %d bits", maxDenominatorBits)
		}
		factors[i], offsets[i] = new(big.Rat), new(big.Rat)
		if c.axis.levels {
			for _, y := range c.table {
				x.denominator = lcm(x.denominator, rat(y))
			}
			continue
		}
		F, G := c.affine(nil)
		factors[i], offsets[i] = quo(F, new(big.Rat).SetInt(c.axis.below)), G
		x.denominator = lcm(lcm(x.denominator, factors[i]), G)
	}
	for i, c := range w.columns {
		x.factor = append(x.factor, times(factors[i], x.denominator))
		x.offset = append(x.offset, times(offsets[i], x.denominator))
		var table []*big.Int
		for _, y := range c.table {
			table = append(table, times(rat(y), x.denominator))
		}
		x.tables = append(x.tables, table)
	}
	x.costs = new(big.Int).Quo(x.denominator, w.common)
	if !w.anywhere {
		x.claim = mul(w.claim, new(big.Rat).SetInt(x.denominator))
	}
	return x
}

// leastOver returns a lower bound of f(x) + θ (d(x) - q), or of f(x) for `anywhere`, over the points of a state, for a
// function f of the inputs of a layer; nil where nothing bounds it.
func (c *checker) leastOver(s *state, k int, f *linear, theta float64, h *hints) *big.Rat {
	m := c.net
	for {
		f = f.before(m.layers[k])
		if k == 0 {
			break
		}
		k--
		if m.layers[k].relu {
			if f = f.relax(k, s.units[k], h); f.endless {
				return nil
			}
		}
	}
	weight, weightExponent := new(big.Int), 0
	if !c.anywhere {
		weight, weightExponent = split(theta)
	}
	exponent := max(max(f.exponent, factorBits), -weightExponent)
	weight = rescale(weight, -weightExponent, exponent)
	total := new(big.Int)
	byFeature := map[int][]int{}
	for i, column := range m.columns {
		byFeature[column.feature] = append(byFeature[column.feature], i)
	}
	scaled := &linear{exponent: exponent}
	for _, v := range f.coefficients {
		scaled.coefficients = append(scaled.coefficients, rescale(v, f.exponent, exponent))
	}
	for j := range c.axes {
		total.Add(total, c.leastOfAxis(s, j, byFeature[j], scaled, weight, h))
	}
	out := mul(new(big.Rat).SetFrac(total, m.exact.denominator), power(-exponent))
	out = add(out, mul(new(big.Rat).SetInt(f.constant), power(-f.constantExponent)))
	if h.push != nil {
		allowed := new(big.Int).Mul(h.push, c.mostChanges)
		out = sub(out, mul(new(big.Rat).SetInt(allowed), power(-factorBits)))
	}
	if !c.anywhere {
		out = sub(out, mul(rat(theta), c.claim))
	}
	return out
}

// leastOfAxis returns the least of k_j x + θ p_j + share_j t_j + μ [changed] + Σ m e over a span, over the denominator and 2^exponent.
func (c *checker) leastOfAxis(s *state, j int, columns []int, f *linear, theta *big.Int, h *hints) *big.Int {
	a, x := c.axes[j], c.net.exact
	factor, offset := new(big.Int), new(big.Int)
	for _, i := range columns {
		factor.Add(factor, new(big.Int).Mul(f.coefficients[i], x.factor[i]))
		offset.Add(offset, new(big.Int).Mul(f.coefficients[i], x.offset[i]))
	}
	var out *big.Int
	for _, i := range a.candidates(s.box[j], a.start) {
		value := new(big.Int).Set(offset)
		if a.levels {
			for _, column := range columns {
				value.Add(value, new(big.Int).Mul(f.coefficients[column], x.tables[column][i.Int64()]))
			}
		} else if len(columns) > 0 {
			value.Add(value, new(big.Int).Mul(factor, a.units(i)))
		}
		if !c.anywhere {
			p, t := a.price(i, a.start)
			cost := new(big.Int).Mul(theta, p)
			if share := h.shares[j]; share != nil {
				cost.Add(cost, new(big.Int).Mul(rescale(share, factorBits, f.exponent), t))
			}
			value.Add(value, cost.Mul(cost, x.costs))
		}
		if h.push != nil && i.Cmp(a.start) != 0 {
			value.Add(value, new(big.Int).Mul(rescale(h.push, factorBits, f.exponent), x.denominator))
		}
		for _, p := range []*pull{h.pull, h.ruled} {
			if p != nil {
				pulled := new(big.Int).Mul(p.at(a, j, i), x.denominator)
				pulled.Lsh(pulled, uint(f.exponent))
				value.Add(value, pulled.Div(pulled, p.below)) // rounded down
			}
		}
		if out == nil || value.Cmp(out) < 0 {
			out = value
		}
	}
	return out
}
