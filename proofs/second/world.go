package main

import "math/big"

// FORMAT 2: the statement without its model.

// comparison is one of the goal's: scores by number, -1 where one is absent.
type comparison struct {
	plus, minus int
	than        float64
	strict      bool
}

// sides of the comparison that are there.
func (c *comparison) sides() []int {
	var out []int
	for _, side := range []int{c.plus, c.minus} {
		if side >= 0 {
			out = append(out, side)
		}
	}
	return out
}

// difference returns x[plus] - x[minus], an absent one being 0.
func (c *comparison) difference(x []*big.Rat) *big.Rat {
	out := new(big.Rat)
	if c.plus >= 0 {
		out.Add(out, x[c.plus])
	}
	if c.minus >= 0 {
		out.Sub(out, x[c.minus])
	}
	return out
}

type world struct {
	axes        []*axis
	columns     []*column
	goal        [][]*comparison
	rules       []*expression
	avoid       []*region
	mostChanges *big.Int
	anywhere    bool
	claim       *big.Rat // q
	far         *big.Int // costs from here on are not below q
	below       *big.Rat // the largest number below q that can be a distance, once it was asked for
	common      *big.Int // the common denominator of all costs
	gamma       bool     // whether the maximum counts
	forms       *forms
}

const maxDenominatorBits = 100_000

// readWorld reads everything but the model and the goal.
func readWorld(f map[string]any) *world {
	w := &world{}
	features := list(f["features"])
	if len(features) > maxFeatures {
		giveUp("too large: more than %d features", maxFeatures)
	}
	for _, feature := range features {
		w.axes = append(w.axes, readAxis(feature))
	}
	w.readClaim(f["claim"])
	w.readDistance(f["distance"])
	columns := list(f["columns"])
	if len(columns) > maxColumns {
		giveUp("too large: more than %d columns", maxColumns)
	}
	for _, c := range columns {
		w.columns = append(w.columns, w.readColumn(c))
	}
	for _, rule := range list(f["rules"]) {
		w.rules = append(w.rules, w.readRule(rule))
	}
	for _, r := range list(f["avoid"]) {
		region := w.readRegion(r)
		require(region.near == nil || w.forms.count == 0, "a ball, beside forms")
		w.avoid = append(w.avoid, region)
	}
	w.mostChanges = big.NewInt(int64(len(w.axes)))
	if f["most_changes"] != nil {
		w.mostChanges = integer(f["most_changes"])
	}
	return w
}

func (w *world) readClaim(value any) {
	fields, ok := value.(map[string]any)
	require(ok, "the claim is an object")
	if _, there := fields["anywhere"]; there {
		require(boolean(object(value, "anywhere")["anywhere"]), "anywhere is true or not there")
		w.anywhere = true
		return
	}
	w.claim = notNegative(object(value, "closer_than")["closer_than"])
}

// readDistance finds the common denominator of all costs and every axis's own factors in it.
func (w *world) readDistance(value any) {
	f := object(value, "alpha", "beta", "gamma", "forms?")
	formed, there := f["forms"]
	w.readForms(formed, there)
	alpha, beta, gamma := notNegative(f["alpha"]), notNegative(f["beta"]), notNegative(f["gamma"])
	w.gamma = gamma.Sign() > 0
	w.common = big.NewInt(1)
	type factors struct{ jump, slope, topSlope, missSum, missTop *big.Rat }
	all := make([]factors, len(w.axes))
	for j, a := range w.axes {
		jump, perStep := mul(a.weight, alpha), quo(a.weight, a.stepLength())
		x := factors{jump, mul(perStep, beta), mul(perStep, gamma), new(big.Rat), new(big.Rat)}
		if a.cost != nil && a.cost.Sign() > 0 {
			x.missSum = add(jump, mul(mul(a.weight, beta), a.cost))
			x.missTop = mul(mul(a.weight, gamma), a.cost)
		}
		all[j] = x
		for _, q := range []*big.Rat{x.jump, x.slope, x.topSlope, x.missSum, x.missTop} {
			w.common = lcm(w.common, q)
			if w.common.BitLen() > maxDenominatorBits {
				giveUp("too large: the common denominator of distances has more than %d bits", maxDenominatorBits)
			}
		}
	}
	for j, a := range w.axes {
		x := all[j]
		a.jump, a.slope, a.topSlope = times(x.jump, w.common), times(x.slope, w.common), times(x.topSlope, w.common)
		a.missSum, a.missTop = times(x.missSum, w.common), times(x.missTop, w.common)
	}
	if !w.anywhere {
		w.far = w.scaled(w.claim)
	}
}

// stepLength is what a difference of one in `steps` is divided by, 2.3.
func (a *axis) stepLength() *big.Rat {
	switch {
	case !a.levels:
		return mul(a.scale, new(big.Rat).SetInt(a.below))
	case !a.ordered:
		return whole(1)
	case a.missing != nil:
		return whole(int64(max(a.count-2, 1)))
	}
	return whole(int64(max(a.count-1, 1)))
}

// scaled returns the least cost, over the common denominator, that is not below q.
func (w *world) scaled(q *big.Rat) *big.Int { return ceil(mul(q, new(big.Rat).SetInt(w.common))) }

// readGoal reads comparisons of this many scores.
func (w *world) readGoal(value any, scores int) {
	score := func(value any) int {
		if value == nil {
			return -1
		}
		return small(value, 0, scores-1)
	}
	for _, part := range list(value) {
		var comparisons []*comparison
		for _, item := range list(part) {
			f := listOf(item, 4)
			c := &comparison{score(f[0]), score(f[1]), float(f[2]), boolean(f[3])}
			require(c.plus >= 0 || c.minus >= 0, "a comparison of no score")
			require(c.plus < 0 || c.minus < 0 || c.than == 0, "a comparison of two scores with a number")
			comparisons = append(comparisons, c)
		}
		w.goal = append(w.goal, comparisons)
	}
}

// leastDistance of a box none of whose spans is empty, over the common denominator.
func (w *world) leastDistance(box []*span) *big.Int {
	sum, top := new(big.Int), new(big.Int)
	for j, s := range box {
		p, t := w.axes[j].least(s)
		sum.Add(sum, p)
		if t.Cmp(top) > 0 {
			top = t
		}
	}
	return sum.Add(sum, top)
}

// tooFar says whether a cost is not below the claim; for `anywhere` nothing is.
func (w *world) tooFar(cost *big.Int) bool { return !w.anywhere && cost.Cmp(w.far) >= 0 }

// readPoint reads one index for each feature.
func (w *world) readPoint(value any) []*big.Int {
	items := listOf(value, len(w.axes))
	point := make([]*big.Int, len(items))
	for j, item := range items {
		point[j] = w.axes[j].index(item)
	}
	return point
}

// pointBox is the box of one point.
func (w *world) pointBox(point []*big.Int) []*span {
	box := make([]*span, len(point))
	for j, i := range point {
		box[j] = &span{lo: i, hi: i}
		if w.axes[j].levels {
			box[j] = &span{mask: new(big.Int).Lsh(one, uint(i.Int64()))}
		}
	}
	return box
}
