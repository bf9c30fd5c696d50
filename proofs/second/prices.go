package main

import (
	"math/big"
	"sort"
)

// FORMAT 6.14: prices of the nodes of trees, by which axes and trees are minimised each by itself.

// priced node: a whole number of units for its side of its parent's test.
type priced struct {
	feature int
	side    *span
	n       *big.Int
}

// priceList is an entry of `prices`, for one part of the goal.
type priceList struct {
	lambdas []*big.Rat
	shares  map[int]*big.Rat
	unit    *big.Rat
	byAxis  map[int][]priced
	byTree  map[int][]priced
	pull    *pull
	ruled   *pull
	shared  map[place]*big.Int // what leaves pay for cliques
	spent   *big.Int           // what all cliques cost
}

// pricesLeaf: in every open part of the goal the bound is above every distance that is below the claim.
func (c *checker) pricesLeaf(s *state, fields []any) {
	c.eachPart(s, fields, func(k int, _ *priceList, trees *big.Rat, axes []*big.Rat) {
		require(c.refutes(total(trees, axes)), "part %d of the goal may hold", k)
	})
}

// narrowed axis: what stays of it, and what goes.
type narrowing struct {
	j    int
	keep *span
	gone []*span
}

// narrow: what goes of an axis is too far by itself, in every open part of the goal.
func (c *checker) narrow(s *state, fields []any) *state {
	require(len(fields) > 0, "the first field is a list of axes")
	var all []narrowing
	next := 0
	for _, field := range list(fields[0]) {
		items := listOf(field, 2)
		n := narrowing{j: small(items[0], next, len(c.axes)-1)}
		next = n.j + 1
		n.keep = c.axes[n.j].span(items[1])
		for _, gone := range outside(s.box[n.j], n.keep) {
			if !gone.empty() {
				n.gone = append(n.gone, gone)
			}
		}
		all = append(all, n)
	}
	c.eachPart(s, fields[1:], func(k int, list *priceList, trees *big.Rat, axes []*big.Rat) {
		bound := total(trees, axes)
		for _, n := range all {
			rest := sub(bound, axes[n.j])
			for _, gone := range n.gone {
				beyond := add(rest, c.leastOfCells(gone, n.j, list))
				require(c.refutes(beyond), "part %d of the goal may hold where axis %d goes", k, n.j)
			}
		}
	})
	for _, n := range all {
		s = s.narrowed(n.j, s.box[n.j].meet(n.keep))
	}
	return s
}

// eachPart hands on, for every open part of the goal that some leaf of each tree is left of, its prices, and what they make
// of the trees together and of each axis.
func (c *checker) eachPart(s *state, fields []any, take func(k int, list *priceList, trees *big.Rat, axes []*big.Rat)) {
	require(len(fields) == len(s.parts), "one entry for each open part of the goal")
	leaves := make([]map[int][]*span, len(c.trees.trees))
	for k := range leaves {
		leaves[k] = c.reachable(s, k)
	}
	for n, field := range fields {
		k := s.parts[n]
		list := c.readPrices(field, len(c.goal[k]), s)
		trees := c.boundOfTrees(c.goal[k], list, leaves)
		if trees == nil {
			continue
		}
		axes := make([]*big.Rat, len(c.axes))
		for j := range axes {
			axes[j] = c.leastOfCells(s.box[j], j, list)
		}
		take(k, list, trees, axes)
	}
}

// total returns the bound of a part.
func total(trees *big.Rat, axes []*big.Rat) *big.Rat {
	out := new(big.Rat).Set(trees)
	for _, least := range axes {
		out.Add(out, least)
	}
	return out
}

func (c *checker) readPrices(value any, comparisons int, s *state) *priceList {
	f := object(value, "goal", "largest", "unit", "prices", "forms?", "rules?", "cliques?")
	out := &priceList{shares: map[int]*big.Rat{}, unit: notNegative(f["unit"]), byAxis: map[int][]priced{}, byTree: map[int][]priced{}}
	pulled, there := f["forms"]
	out.pull = c.readPull(pulled, there)
	ruled, there := f["rules"]
	out.ruled = c.readRuled(ruled, there, s.box)
	shared, there := f["cliques"]
	out.readShared(shared, there, s.cliques)
	for _, item := range listOf(f["goal"], comparisons) {
		out.lambdas = append(out.lambdas, notNegative(item))
	}
	total := new(big.Rat)
	for _, item := range list(f["largest"]) {
		entry := listOf(item, 2)
		j := small(entry[0], 0, len(c.axes)-1)
		require(out.shares[j] == nil, "a feature twice")
		out.shares[j] = notNegative(entry[1])
		total.Add(total, out.shares[j])
	}
	require(total.Cmp(whole(1)) <= 0, "shares of more than the whole")
	c.eachPrice(f["prices"], func(k, node int, n *big.Int) {
		t := c.trees.trees[k]
		j, side := c.trees.child(t, t.parent[node], node)
		require(side != nil, "a price of a test without a cut")
		require(n.Sign() >= 0, "a negative price")
		p := priced{j, side, n}
		out.byAxis[j] = append(out.byAxis[j], p)
		out.byTree[k] = append(out.byTree[k], p)
	})
	return out
}

// eachPrice hands on the tree, the node and the number of every price, in increasing order: of entries, or of two columns.
func (c *checker) eachPrice(value any, take func(k, node int, n *big.Int)) {
	if columns, ok := value.(map[string]any); ok {
		c.eachOfColumns(columns, take)
		return
	}
	lastTree, lastNode := -1, -1
	for _, item := range list(value) {
		entry := listOf(item, 3)
		k := small(entry[0], 0, len(c.trees.trees)-1)
		node := small(entry[1], 1, len(c.trees.trees[k].column)-1)
		require(k > lastTree || k == lastTree && node > lastNode, "prices out of order")
		lastTree, lastNode = k, node
		take(k, node, integer(entry[2]))
	}
}

// eachOfColumns reads prices whose nodes are numbered through all trees, each by what it is more than the one before.
func (c *checker) eachOfColumns(columns map[string]any, take func(k, node int, n *big.Int)) {
	f := object(columns, "nodes", "units")
	steps := list(f["nodes"])
	units := listOf(f["units"], len(steps))
	eachNumber(steps, func(i, number int) {
		k, node := c.trees.placeOf(number)
		require(node > 0, "a price of a root")
		take(k, node, integer(units[i]))
	})
}

// refutes says whether a lower bound of the distance leaves no point against the claim; without a distance it is a bound
// of what must not be positive.
func (c *checker) refutes(bound *big.Rat) bool {
	if c.anywhere {
		return bound.Sign() > 0
	}
	if c.forms.count > 0 {
		return bound.Cmp(c.claim) >= 0
	}
	if c.below == nil {
		c.below = c.lastBelow()
	}
	return bound.Cmp(c.below) > 0
}

// lastBelow returns the largest multiple of the grain of distances below the claim.
func (c *checker) lastBelow() *big.Rat {
	grain := c.distanceGrain()
	if grain.Sign() == 0 {
		return grain
	}
	n := ceil(quo(c.claim, grain))
	return mul(new(big.Rat).SetInt(n.Sub(n, one)), grain)
}

// distanceGrain returns the greatest number of which all parts of distances are multiples. On a grid the steps that axes count
// are of 1 over the common denominator of step and extra; what counts here is their greatest common divisor.
func (c *checker) distanceGrain() *big.Rat {
	all := new(big.Int)
	see := func(n *big.Int) { all.GCD(nil, nil, all, n) }
	for _, a := range c.axes {
		if only := a.all().single(); only != nil && only.Cmp(a.start) == 0 {
			continue
		}
		if a.missing != nil {
			see(a.missSum)
			see(a.missTop)
		}
		if a.isMissing(a.start) {
			continue
		}
		see(a.jump)
		steps := big.NewInt(1)
		if a.grid == "step" {
			steps = times(a.step, a.below)
			if a.extra != nil {
				steps.GCD(nil, nil, steps, new(big.Int).Abs(times(a.extra, a.below)))
			}
		}
		see(new(big.Int).Mul(a.slope, steps))
		see(new(big.Int).Mul(a.topSlope, steps))
	}
	return new(big.Rat).SetFrac(all, c.common)
}

// reachable returns the boxes of the leaves of a tree that are alive, not empty and not too far.
func (c *checker) reachable(s *state, k int) map[int][]*span {
	out := map[int][]*span{}
	for n := range s.alive[k].leaves {
		if box := c.leafBox(s, c.trees.trees[k], n); box != nil {
			out[n] = box
		}
	}
	return out
}

// boundOfTrees returns the bound of a part without what axes add, or nil where a tree has no leaf.
func (c *checker) boundOfTrees(part []*comparison, list *priceList, leaves []map[int][]*span) *big.Rat {
	out := mul(list.unit, new(big.Rat).SetInt(list.spent))
	out.Neg(out)
	for k := range c.trees.trees {
		least := c.leastOfTree(k, part, list, leaves[k])
		if least == nil {
			return nil
		}
		out.Add(out, least)
	}
	divide := new(big.Rat).SetInt(c.trees.divide)
	for i, of := range part {
		K := c.trees.comparisons[of].holds
		than := ceil(mul(sub(mul(rat(of.than), divide), K), power(1074)))
		if of.strict && K.Sign() == 0 {
			than.Add(than, one)
		}
		needed := mul(new(big.Rat).SetInt(than), power(-1074))
		needed.Sub(needed, mul(new(big.Rat).SetInt(c.trees.startOf[of]), power(-c.trees.exponent)))
		out.Add(out, mul(list.lambdas[i], needed))
	}
	return out
}

// leastOfTree returns the least over leaves of the prices that they pay, less their factored scores.
func (c *checker) leastOfTree(k int, part []*comparison, list *priceList, leaves map[int][]*span) *big.Rat {
	below := lcm(one, list.unit)
	for _, lambda := range list.lambdas {
		below = lcm(below, lambda)
	}
	unit := times(list.unit, below)
	unit.Lsh(unit, uint(c.trees.exponent))
	lambdas := make([]*big.Int, len(part))
	for i, lambda := range list.lambdas {
		lambdas[i] = times(lambda, below)
	}
	var out *big.Int
	for n, box := range leaves {
		value := new(big.Int)
		if paid := list.shared[place{k, n}]; paid != nil {
			value.Set(paid)
		}
		for _, p := range list.byTree[k] {
			if box[p.feature].within(p.side) {
				value.Add(value, p.n)
			}
		}
		value.Mul(value, unit)
		for i, of := range part {
			value.Sub(value, new(big.Int).Mul(lambdas[i], c.trees.differences[of][k][n]))
		}
		if out == nil || value.Cmp(out) < 0 {
			out = value
		}
	}
	if out == nil {
		return nil
	}
	return mul(new(big.Rat).SetFrac(out, below), power(-c.trees.exponent))
}

// cell of an axis, and the sum of the prices that hold on it.
type cell struct {
	span *span
	n    *big.Int
}

// cells cuts a span into pieces that no side cuts.
func (a *axis) cells(s *span, prices []priced) []cell {
	var out []cell
	if a.levels {
		for _, i := range a.candidates(s, a.start) {
			n := new(big.Int)
			for _, p := range prices {
				if p.side.has(i) {
					n.Add(n, p.n)
				}
			}
			out = append(out, cell{&span{mask: new(big.Int).Lsh(one, uint(i.Int64()))}, n})
		}
		return out
	}
	type change struct{ at, by *big.Int }
	var changes []change
	for _, p := range prices {
		if inside := s.meet(p.side); !inside.empty() {
			changes = append(changes, change{inside.lo, p.n}, change{new(big.Int).Add(inside.hi, one), new(big.Int).Neg(p.n)})
		}
	}
	sort.Slice(changes, func(i, k int) bool { return changes[i].at.Cmp(changes[k].at) < 0 })
	n, lo := new(big.Int), s.lo
	for _, c := range changes {
		if c.at.Cmp(lo) > 0 {
			out = append(out, cell{&span{lo: lo, hi: new(big.Int).Sub(c.at, one)}, new(big.Int).Set(n)})
			lo = c.at
		}
		n.Add(n, c.by)
	}
	if lo.Cmp(s.hi) <= 0 {
		out = append(out, cell{&span{lo: lo, hi: s.hi}, n})
	}
	return out
}

// leastOfCells returns the least over the cells of an axis of what they cost, less the prices that hold there.
func (c *checker) leastOfCells(s *span, j int, list *priceList) *big.Rat {
	a, share := c.axes[j], list.shares[j]
	if share == nil {
		share = new(big.Rat)
	}
	below := lcm(lcm(one, list.unit), share)
	for _, p := range []*pull{list.pull, list.ruled} {
		if p != nil {
			below.Mul(below, p.below)
		}
	}
	unit := new(big.Int).Mul(times(list.unit, below), c.common)
	perTop := times(share, below)
	var out *big.Int
	for _, piece := range a.cells(s, list.byAxis[j]) {
		value := c.leastOfPiece(piece.span, j, list, below, perTop)
		value.Sub(value, new(big.Int).Mul(unit, piece.n))
		if list.pull != nil {
			pulled := list.pull.least(a, j, piece.span)
			pulled.Mul(pulled, new(big.Int).Quo(below, list.pull.below))
			value.Add(value, pulled.Mul(pulled, c.common))
		}
		if out == nil || value.Cmp(out) < 0 {
			out = value
		}
	}
	return new(big.Rat).SetFrac(out, new(big.Int).Mul(below, c.common))
}

// leastOfPiece returns the least of p_j + share t_j + what rules make of a value, over below times the common denominator.
func (c *checker) leastOfPiece(s *span, j int, list *priceList, below, perTop *big.Int) *big.Int {
	a := c.axes[j]
	cost := func(p, t *big.Int) *big.Int {
		value := new(big.Int)
		if !c.anywhere {
			value.Mul(p, below)
			value.Add(value, new(big.Int).Mul(perTop, t))
		}
		return value
	}
	if list.ruled == nil {
		return cost(a.least(s))
	}
	var out *big.Int
	for _, i := range a.candidates(s, a.start) {
		value := cost(a.price(i, a.start))
		ruled := list.ruled.at(a, j, i)
		ruled.Mul(ruled, new(big.Int).Quo(below, list.ruled.below))
		value.Add(value, ruled.Mul(ruled, c.common))
		if out == nil || value.Cmp(out) < 0 {
			out = value
		}
	}
	return out
}
