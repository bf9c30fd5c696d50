package main

import (
	"math"
	"math/big"
)

// FORMAT 6.18: leaves of which a point reaches at most one, and the prices of such cliques (6.14).

// place of a node: its tree, and its number in it.
type place struct{ tree, node int }

// cliques returns the state with more cliques.
func (c *checker) cliques(s *state, fields []any) *state {
	boxes := map[place]map[int]*span{}
	out := *s
	out.cliques = append([][]place(nil), s.cliques...)
	for _, field := range fields {
		var leaves []place
		eachNumber(list(field), func(_, number int) {
			k, node := c.trees.placeOf(number)
			at := place{k, node}
			require(c.root.alive[k].leaves[node], "node %d of tree %d is no leaf that the root reaches", node, k)
			if _, known := boxes[at]; !known {
				boxes[at] = c.within(s.box, at)
			}
			for _, other := range leaves {
				require(other.tree == k || disjoint(boxes[other], boxes[at]), "a point may reach two leaves of a clique")
			}
			leaves = append(leaves, at)
		})
		out.cliques = append(out.cliques, leaves)
	}
	return &out
}

// eachNumber hands on the place and the value of every number of a list that says by how much each exceeds the one before.
func eachNumber(steps []any, take func(i, number int)) {
	number, least := 0, 0
	for i, step := range steps {
		number += small(step, least, math.MaxInt32)
		least = 1
		take(i, number)
	}
}

// within returns what the tests on the way to a leaf leave of a box, on the axes that they test; nil where that is nothing.
func (c *checker) within(box []*span, at place) map[int]*span {
	out := map[int]*span{}
	for j, side := range c.trees.path(c.trees.trees[at.tree], at.node) {
		if out[j] = box[j].meet(side); out[j].empty() {
			return nil
		}
	}
	return out
}

// disjoint says whether two boxes, of which nil has no point, have none in common.
func disjoint(one, other map[int]*span) bool {
	if one == nil || other == nil {
		return true
	}
	for j, side := range one {
		if beside, both := other[j]; both && side.meet(beside).empty() {
			return true
		}
	}
	return false
}

// readShared reads prices of cliques, and adds up what each leaf pays for them, and what all of them cost.
func (p *priceList) readShared(value any, there bool, known [][]place) {
	p.shared, p.spent = map[place]*big.Int{}, new(big.Int)
	if !there {
		return
	}
	f := object(value, "numbers", "units")
	numbers := list(f["numbers"])
	units := listOf(f["units"], len(numbers))
	eachNumber(numbers, func(i, number int) {
		require(number < len(known), "a clique that the state has not")
		n := integer(units[i])
		require(n.Sign() >= 0, "a negative price")
		p.spent.Add(p.spent, n)
		for _, at := range known[number] {
			if p.shared[at] == nil {
				p.shared[at] = new(big.Int)
			}
			p.shared[at].Add(p.shared[at], n)
		}
	})
}
