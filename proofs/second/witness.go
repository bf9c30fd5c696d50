package main

import "math/big"

// FORMAT 4: the witness.

func (c *checker) witness(value any) {
	c.where = "the witness"
	if value == nil {
		return
	}
	require(!c.anywhere, "a witness against the claim that there is none")
	f := object(value, "point", "distance")
	point := c.readPoint(f["point"])
	box := c.pointBox(point)
	stated := rational(f["distance"])
	distance := add(new(big.Rat).SetFrac(c.leastDistance(box), c.common), c.size(point))
	require(distance.Cmp(stated) == 0, "its distance is another")
	require(distance.Cmp(c.claim) >= 0, "it is nearer than the claim")
	c.obeys(point)
}

// obeys refuses unless a point is allowed and certainly has the goal.
func (c *checker) obeys(point []*big.Int) {
	box := c.pointBox(point)
	for j, a := range c.axes {
		require(box[j].within(a.all()), "feature %d is not allowed to be so", j)
	}
	require(big.NewInt(int64(c.changed(box))).Cmp(c.mostChanges) <= 0, "it changes too many features")
	for k, r := range c.rules {
		canFalse, _ := r.truthOn(c.world, box, nil)
		require(!canFalse, "it does not obey rule %d", k)
	}
	for k, r := range c.avoid {
		require(!r.holds(c.world, box), "it lies in the excluded region %d", k)
	}
	require(c.certainlyHasGoal(point), "it does not certainly have the goal")
}

func (c *checker) certainlyHasGoal(point []*big.Int) bool {
	holds := c.comparisonAt(point)
	for _, part := range c.goal {
		all := true
		for _, of := range part {
			all = all && holds(of)
		}
		if all {
			return true
		}
	}
	return false
}

// comparisonAt returns what says whether a comparison holds for certain at a point.
func (c *checker) comparisonAt(point []*big.Int) func(*comparison) bool {
	columns := c.columns
	row := make([]float64, len(columns))
	for i, column := range columns {
		row[i] = column.given(point[column.feature])
	}
	if c.net != nil {
		return c.networkAt(row)
	}
	m := c.trees
	leaves := make([]int, len(m.trees))
	for k, t := range m.trees {
		leaves[k] = m.leafOf(t, row)
	}
	if m.ordered && m.failing == 0 && !m.squashed() {
		scores := m.floatScores(leaves)
		return func(of *comparison) bool {
			order := of.difference(scores).Cmp(rat(of.than))
			return order > 0 || order == 0 && !of.strict
		}
	}
	sums := make([]*big.Rat, len(m.start))
	for k, x := range m.start {
		sums[k] = rat(x)
		for t, n := range leaves {
			sums[k].Add(sums[k], rat(m.trees[t].value[n][k]))
		}
	}
	divide := new(big.Rat).SetInt(m.divide)
	return func(of *comparison) bool {
		return beyond(sub(of.difference(sums), mul(rat(of.than), divide)), m.comparisons[of].fails, of.strict)
	}
}

func (c *checker) networkAt(row []float64) func(*comparison) bool {
	sizes, errors := make([]*big.Rat, len(row)), make([]*big.Rat, len(row))
	for i, x := range row {
		sizes[i], errors[i] = abs(rat(x)), new(big.Rat)
		if c.net.single {
			errors[i] = add(mul(sizes[i], power(-24)), power(-149))
		}
	}
	margins := c.net.margin(c.world, sizes, errors)
	scores := c.net.scores(row)
	return func(of *comparison) bool {
		return beyond(sub(of.difference(scores), rat(of.than)), margins[of], of.strict)
	}
}

// beyond says whether an exact difference is above its slack, or 0 without slack where that is enough.
func beyond(difference, slack *big.Rat, strict bool) bool {
	return difference.Cmp(slack) > 0 || difference.Sign() == 0 && slack.Sign() == 0 && !strict
}

// leafOf returns the leaf that a row reaches.
func (m *ensemble) leafOf(t *tree, row []float64) int {
	n := 0
	for t.column[n] >= 0 {
		if m.passes(m.tests[t.test[n]], row[t.column[n]]) {
			n = t.left[n]
		} else {
			n = t.right[n]
		}
	}
	return n
}
