package main

import "math/big"

// FORMAT 7.1: how far the float comparison of an ensemble may lie from the exact one.

// slack of a comparison that holds, and of one that fails.
type slack struct{ holds, fails *big.Rat }

// unit of rounding, least normal number, digits and the exponent of overflow of a dtype.
type arithmetic struct {
	u, s           *big.Rat
	digits, beyond int
}

func arithmeticOf(single bool) arithmetic {
	if single {
		return arithmetic{power(-24), power(-126), 24, 128}
	}
	return arithmetic{power(-53), power(-1022), 53, 1024}
}

// g returns n u / (1 - n u).
func (r arithmetic) g(n int) *big.Rat {
	nu := mul(whole(int64(n)), r.u)
	require(nu.Cmp(whole(1)) < 0, "too many terms for a bound of their rounding")
	return quo(nu, sub(whole(1), nu))
}

// squash returns the units of rounding by which the library may move the boundary.
func squash(rule string) *big.Rat {
	switch rule {
	case "sigmoid":
		return whole(16)
	case "softmax":
		return whole(32)
	}
	return whole(0)
}

// magnitudes returns M, the number of terms and the grain as an exponent (whether there is one) of a comparison.
func (m *ensemble) magnitudes(c *comparison) (M *big.Rat, terms, grain int, any bool) {
	M, terms = new(big.Rat), len(m.trees)
	see := func(x float64) {
		if n, e := split(x); n.Sign() != 0 {
			if !any || e < grain {
				grain = e
			}
			any = true
		}
	}
	started := false
	for _, side := range c.sides() {
		see(m.start[side])
		started = started || m.start[side] != 0
		M.Add(M, abs(rat(m.start[side])))
	}
	if started {
		terms++
	}
	for _, t := range m.trees {
		top := new(big.Rat)
		for _, value := range t.value {
			if value == nil {
				continue
			}
			sum := new(big.Rat)
			for _, side := range c.sides() {
				see(value[side])
				sum.Add(sum, abs(rat(value[side])))
			}
			top = largest(top, sum)
		}
		M.Add(M, top)
	}
	return M, terms, grain, any
}

func (m *ensemble) slackOf(c *comparison) *slack {
	r := arithmeticOf(m.single)
	M, n, grainExponent, any := m.magnitudes(c)
	grain := new(big.Rat)
	if any {
		grain = power(grainExponent)
	}
	require(mul(M, add(whole(1), r.g(n+1))).Cmp(power(r.beyond-1)) < 0, "sums that could overflow")
	exact := !any || M.Cmp(mul(grain, power(r.digits))) <= 0
	divide := new(big.Rat).SetInt(m.divide)
	K := mul(mul(squash(m.rule), r.u), divide)
	if !exact {
		K = add(K, mul(r.g(max(n-1, 0)), M))
	}
	K = add(K, mul(whole(int64(len(c.sides()))), rat(m.failing)))
	D := add(mul(mul(mul(whole(2), r.u), M), add(whole(1), r.g(n))), mul(mul(whole(2), divide), r.s))
	both := len(c.sides()) == 2
	powerOfTwo := int(m.divide.TrailingZeroBits())+1 == m.divide.BitLen()
	none := m.divide.Cmp(one) == 0 ||
		exact && powerOfTwo && quo(grain, divide).Cmp(r.s) >= 0 ||
		both && exact && grain.Cmp(D) > 0
	out := &slack{K, K}
	if !none && !(both && c.strict) {
		out.holds = add(K, D)
	}
	if !none && !(both && !c.strict) {
		out.fails = add(K, D)
	}
	return out
}

// prepare computes the slack of every comparison, and the stored values as integers.
func (m *ensemble) prepare(w *world) {
	m.comparisons = map[*comparison]*slack{}
	for _, part := range w.goal {
		for _, c := range part {
			m.comparisons[c] = m.slackOf(c)
		}
	}
	all := append([][]float64{m.start}, []float64{})
	for _, t := range m.trees {
		all = append(all, t.value...)
	}
	for _, values := range all {
		for _, x := range values {
			_, e := split(x)
			m.exponent = max(m.exponent, -e)
		}
	}
	m.differences = map[*comparison][]map[int]*big.Int{}
	m.startOf = map[*comparison]*big.Int{}
	for c := range m.comparisons {
		m.startOf[c] = m.difference(c, m.start)
		perTree := make([]map[int]*big.Int, len(m.trees))
		for k, t := range m.trees {
			perTree[k] = map[int]*big.Int{}
			for n, value := range t.value {
				if value != nil {
					perTree[k][n] = m.difference(c, value)
				}
			}
		}
		m.differences[c] = perTree
	}
}

// difference returns x[plus] - x[minus] of stored values, times 2^exponent.
func (m *ensemble) difference(c *comparison, x []float64) *big.Int {
	out := new(big.Int)
	if c.plus >= 0 {
		out.Add(out, shifted(x[c.plus], m.exponent))
	}
	if c.minus >= 0 {
		out.Sub(out, shifted(x[c.minus], m.exponent))
	}
	return out
}
