package main

import "math/big"

// FORMAT 6.13: linear comparisons in rules, and what multipliers make of them.

// sum is a linear function of values of features.
type sum struct {
	factors  map[int]*big.Rat
	constant *big.Rat
}

// add adds another function, times a number.
func (l *sum) add(other *sum, factor *big.Rat) {
	l.constant = add(l.constant, mul(factor, other.constant))
	for j, q := range other.factors {
		if l.factors[j] == nil {
			l.factors[j] = new(big.Rat)
		}
		l.factors[j] = add(l.factors[j], mul(factor, q))
	}
}

// linear returns a number as a linear function; of a comparison of a with b it is a - b. Nil where that is none.
func (e *expression) linear() *sum {
	l := &sum{factors: map[int]*big.Rat{}, constant: new(big.Rat)}
	factors := []*big.Rat{whole(1), whole(-1)}
	switch e.op {
	case "x":
		l.factors[e.feature] = whole(1)
	case "c":
		l.constant = e.number
	case "neg":
		factors[0] = whole(-1)
	case "*":
		factors[0] = e.number
	case "+", "-", "<", "<=", "==", "!=":
	default:
		return nil
	}
	for k, part := range e.parts {
		of := part.linear()
		if of == nil {
			return nil
		}
		factor := factors[0]
		if e.op != "+" && k == 1 {
			factor = factors[1]
		}
		l.add(of, factor)
	}
	return l
}

// readRuled reads multipliers of comparisons, [rule, comparison, m] each, and what they make of them over a box in which
// the rules make these hold, or fail; nil where there are none.
func (c *checker) readRuled(value any, there bool, box []*span) *pull {
	if !there {
		return nil
	}
	total := &sum{factors: map[int]*big.Rat{}, constant: new(big.Rat)}
	for _, item := range list(value) {
		entry := listOf(item, 3)
		require(len(c.rules) > 0, "there are no rules")
		rule := c.rules[small(entry[0], 0, len(c.rules)-1)]
		all := rule.comparisons()
		require(len(all) > 0, "a rule without comparisons")
		e := all[small(entry[1], 0, len(all)-1)]
		m := roundDown(rational(entry[2]), factorBits)
		is := e.op == "==" || e.op != "!=" && m.Sign() >= 0
		of := e.linear()
		require(of != nil, "a comparison of numbers that are not linear")
		for j := range of.factors {
			require(!c.axes[j].isMissing(c.axes[j].start), "a comparison of what is missing at the start")
		}
		_, canTrue := rule.truthOn(c.world, box, &assumption{e, !is})
		require(!canTrue, "the rule leaves the comparison open")
		total.add(of, mul(new(big.Rat).SetInt(m), power(-factorBits)))
	}
	return c.pullOf(total)
}

// pullOf returns a linear function as weights of every axis and entry.
func (c *checker) pullOf(l *sum) *pull {
	per, constant := map[int]*big.Rat{}, l.constant
	for j, q := range l.factors {
		a := c.axes[j]
		per[j] = q
		if !a.levels {
			per[j] = quo(q, new(big.Rat).SetInt(a.below))
			constant = add(constant, mul(per[j], new(big.Rat).SetInt(a.units(a.start))))
		}
	}
	out := &pull{below: big.NewInt(1)}
	for _, q := range per {
		out.below = lcm(out.below, q)
	}
	out.below = lcm(out.below, constant)
	if out.below.BitLen() > maxDenominatorBits {
		giveUp("too large: the numbers of rules")
	}
	out.constant = times(constant, out.below)
	for j, a := range c.axes {
		weights := make([]*big.Int, a.items())
		for item := range weights {
			weights[item] = new(big.Int)
			if q := per[j]; q != nil {
				weights[item] = times(q, out.below)
				if a.levels {
					weights[item].Mul(weights[item], big.NewInt(int64(item)))
				}
			}
		}
		out.weights = append(out.weights, weights)
	}
	return out
}
