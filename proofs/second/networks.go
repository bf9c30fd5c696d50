package main

import "math/big"

// FORMAT 6.4, 6.5, 6.13 and 6.15: the rules of networks.

// unit reads the layer and the number of a hidden unit.
func (c *checker) unit(layer, unit any) (int, int) {
	k := small(layer, 0, len(c.net.layers)-1)
	require(c.net.hidden(k), "a layer without hidden units")
	return k, small(unit, 0, len(c.net.layers[k].bias)-1)
}

// phase returns the two states in which a hidden unit has z <= 0 and z >= 0.
func (c *checker) phase(s *state, fields []any) []*state {
	k, i := c.unit(fields[0], fields[1])
	zero := new(big.Int)
	off, on := s.units[k][i], s.units[k][i]
	off.phase, on.phase = -1, 1
	if off.high == nil || off.high.Sign() > 0 {
		off.high = zero
	}
	if on.low == nil || on.low.Sign() < 0 {
		on.low = zero
	}
	return []*state{s.withUnit(k, i, off), s.withUnit(k, i, on)}
}

// bounds returns the state with the intervals of hidden units intersected with bounds that are computed here.
func (c *checker) bounds(s *state, fields []any) *state {
	h := &hints{own: true, lines: map[[2]int]int{}}
	for _, field := range fields {
		items := list(field)
		require(len(items) == 4 || len(items) == 5, "a unit, two factors, and perhaps the slope of its line below")
		k, i := c.unit(items[0], items[1])
		unit := s.units[k][i]
		if low := c.bound(s, k, i, 1, items[2], h); low != nil && (unit.low == nil || low.Cmp(unit.low) > 0) {
			unit.low = low
		}
		if high := c.bound(s, k, i, -1, items[3], h); high != nil {
			if high.Neg(high); unit.high == nil || high.Cmp(unit.high) < 0 {
				unit.high = high
			}
		}
		if len(items) == 5 {
			h.lines[[2]int{k, i}] = small(items[4], 0, 1)
		}
		if s = s.withUnit(k, i, unit); s.empty {
			return s
		}
	}
	return s
}

// bound returns least(sign z, θ) rounded down to a multiple of 2^-100, or nil where θ is null or
// nothing bounds it.
func (c *checker) bound(s *state, k, i int, sign int64, theta any, h *hints) *big.Int {
	if theta == nil {
		return nil
	}
	weight := float(theta)
	require(weight >= 0, "a negative factor")
	f := &linear{constant: new(big.Int)}
	for range c.net.layers[k].bias {
		f.coefficients = append(f.coefficients, new(big.Int))
	}
	f.coefficients[i].SetInt64(sign)
	bound := c.leastOver(s, k, f, weight, h)
	if bound == nil {
		return nil
	}
	return roundDown(bound, intervalBits)
}

// dual: in every open part of the goal, factors of the comparisons show that the distance is not below the claim.
func (c *checker) dual(s *state, fields []any) {
	require(len(fields) == len(s.parts), "one entry for each open part of the goal")
	for n, field := range fields {
		k := s.parts[n]
		f, h := c.dualPart(s, c.goal[k], field, new(big.Int).Lsh(one, factorBits))
		bound := c.leastOver(s, len(c.net.layers)-1, f, 1, h)
		require(bound != nil, "nothing bounds part %d of the goal", k)
		if !c.anywhere {
			bound.Add(bound, c.claim)
		}
		require(c.refutes(bound), "part %d of the goal may hold", k)
	}
}

// tighten returns the state with one end of the intervals of hidden units after the other bounded over the points that
// have an open part of the goal.
func (c *checker) tighten(s *state, fields []any) *state {
	for _, field := range fields {
		items := list(field)
		require(len(items) == 4+len(s.parts), "a unit, an end, a factor and one entry for each open part of the goal")
		k, i := c.unit(items[0], items[1])
		sign := int64(1 - 2*small(items[2], 0, 1))
		theta := float(items[3])
		require(theta >= 0, "a negative factor")
		var least *big.Int
		endless := len(s.parts) == 0
		for n, part := range s.parts {
			f, h := c.dualPart(s, c.goal[part], items[4+n], roundDown(rat(theta), factorBits))
			require(h.pull == nil, "a bound of a unit takes no forms")
			h.aim, h.sign = &[2]int{k, i}, sign
			bound := c.leastOver(s, len(c.net.layers)-1, f, theta, h)
			if bound == nil {
				endless = true
			} else if rounded := roundDown(bound, intervalBits); least == nil || rounded.Cmp(least) < 0 {
				least = rounded
			}
		}
		if endless {
			continue
		}
		unit := s.units[k][i]
		if sign > 0 && (unit.low == nil || least.Cmp(unit.low) > 0) {
			unit.low = least
		}
		if least = new(big.Int).Neg(least); sign < 0 && (unit.high == nil || least.Cmp(unit.high) < 0) {
			unit.high = least
		}
		if s = s.withUnit(k, i, unit); s.empty {
			return s
		}
	}
	return s
}

// dualPart reads an entry of a dual: the function f of the scores, and the hints; its shares are at most θ together.
func (c *checker) dualPart(s *state, part []*comparison, value any, theta *big.Int) (*linear, *hints) {
	fields := object(value, "goal", "slopes", "phases", "largest", "forms?", "changes?", "rules?")
	f := &linear{exponent: factorBits, constant: new(big.Int)}
	for range c.net.layers[len(c.net.layers)-1].bias {
		f.coefficients = append(f.coefficients, new(big.Int))
	}
	for i, item := range listOf(fields["goal"], len(part)) {
		lambda := roundDown(notNegative(item), factorBits)
		of := part[i]
		if of.plus >= 0 {
			n := f.coefficients[of.plus]
			n.Sub(n, lambda)
		}
		if of.minus >= 0 {
			n := f.coefficients[of.minus]
			n.Add(n, lambda)
		}
		rest := roundDown(sub(rat(of.than), c.net.margins[of]), guard)
		f.plus(new(big.Int).Mul(rest, lambda), guard+factorBits)
	}
	return f, c.readHints(s, fields, theta)
}

func (c *checker) readHints(s *state, fields map[string]any, theta *big.Int) *hints {
	h := &hints{slopes: map[[2]int]*big.Int{}, phases: map[[2]int]*big.Int{}, shares: map[int]*big.Int{}}
	for _, item := range list(fields["slopes"]) {
		entry := listOf(item, 3)
		k, i := c.unit(entry[0], entry[1])
		h.slopes[[2]int{k, i}] = roundDown(rational(entry[2]), slopeBits)
	}
	for _, item := range list(fields["phases"]) {
		entry := listOf(item, 3)
		k, i := c.unit(entry[0], entry[1])
		require(s.units[k][i].phase != 0, "a unit without a phase")
		h.phases[[2]int{k, i}] = roundDown(notNegative(entry[2]), factorBits)
	}
	if value, there := fields["changes"]; there {
		h.push = roundDown(notNegative(value), factorBits)
	}
	total := new(big.Int)
	for _, item := range list(fields["largest"]) {
		entry := listOf(item, 2)
		j := small(entry[0], 0, len(c.axes)-1)
		share := roundDown(notNegative(entry[1]), factorBits)
		total.Add(total, share)
		if h.shares[j] != nil {
			share.Add(share, h.shares[j])
		}
		h.shares[j] = share
	}
	require(total.Cmp(theta) <= 0, "shares of more than the whole")
	pulled, there := fields["forms"]
	h.pull = c.readPull(pulled, there)
	ruled, there := fields["rules"]
	h.ruled = c.readRuled(ruled, there, s.box)
	return h
}
