package main

import "math/big"

// FORMAT 6.3, 6.11 and 6.12: the rules of ensembles.

// prune returns the state without the leaves that a node names.
func (c *checker) prune(s *state, fields []any) *state {
	for _, field := range fields {
		items := list(field)
		require(len(items) > 0, "an entry names a tree and leaves")
		k := small(items[0], 0, len(c.trees.trees)-1)
		t := c.trees.trees[k]
		rest := &leafSet{leaves: map[int]bool{}, best: map[*comparison]*big.Int{}}
		for n := range s.alive[k].leaves {
			rest.leaves[n] = true
		}
		for _, item := range items[1:] {
			n := small(item, 0, len(t.column)-1)
			require(c.root.alive[k].leaves[n], "not a leaf that was alive at the root")
			require(c.leafBox(s, t, n) == nil, "a leaf that is reached")
			delete(rest.leaves, n)
		}
		out := *s
		out.alive = append([]*leafSet(nil), s.alive...)
		out.alive[k] = rest
		out.empty = out.empty || len(rest.leaves) == 0
		s = &out
	}
	return s
}

// leafBox returns the box, narrowed by the tests on the way to a leaf, or nil where that is empty or too far.
func (c *checker) leafBox(s *state, t *tree, leaf int) []*span {
	box := s.box
	copied := false
	for j, side := range c.trees.path(t, leaf) {
		narrow := s.box[j].meet(side)
		if narrow.empty() {
			return nil
		}
		if narrow != s.box[j] {
			if !copied {
				box, copied = append([]*span{}, box...), true
			}
			box[j] = narrow
		}
	}
	if c.tooFar(c.leastDistance(box)) {
		return nil
	}
	return box
}

// best returns the greatest difference of the scores of a comparison over the leaves that are alive.
func (c *checker) best(set *leafSet, tree int, of *comparison) *big.Int {
	if known, ok := set.best[of]; ok {
		return known
	}
	var out *big.Int
	for n := range set.leaves {
		if d := c.trees.differences[of][tree][n]; out == nil || d.Cmp(out) > 0 {
			out = d
		}
	}
	set.best[of] = out
	return out
}

// treesLeaf: after pruning, in every open part of the goal some comparison misses even for the best leaves.
func (c *checker) treesLeaf(s *state, fields []any) {
	if s = c.prune(s, fields); s.empty {
		return
	}
	for _, k := range s.parts {
		require(c.someMisses(s, c.goal[k]), "part %d of the goal may hold", k)
	}
}

func (c *checker) someMisses(s *state, part []*comparison) bool {
	m := c.trees
	divide := new(big.Rat).SetInt(m.divide)
	for _, of := range part {
		sum := new(big.Int).Set(m.startOf[of])
		for k, set := range s.alive {
			sum.Add(sum, c.best(set, k, of))
		}
		K := m.comparisons[of].holds
		limit := sub(mul(rat(of.than), divide), K)
		order := mul(new(big.Rat).SetInt(sum), power(-m.exponent)).Cmp(limit)
		if order < 0 || order == 0 && K.Sign() == 0 && of.strict {
			return true
		}
	}
	return false
}

// cell: every tree has one leaf, and the float scores do not have an open part of the goal.
func (c *checker) cell(s *state, fields []any) {
	if s = c.prune(s, fields); s.empty {
		return
	}
	m := c.trees
	require(m.ordered && m.failing == 0, "the order of summation is not known")
	leaves := make([]int, len(m.trees))
	for k, set := range s.alive {
		require(len(set.leaves) == 1, "tree %d has several leaves alive", k)
		for n := range set.leaves {
			leaves[k] = n
		}
	}
	scores := m.floatScores(leaves)
	r := arithmeticOf(m.single)
	room := new(big.Rat).Neg(mul(squash(m.rule), r.u))
	for _, k := range s.parts {
		misses := false
		for _, of := range c.goal[k] {
			order := sub(of.difference(scores), rat(of.than)).Cmp(room)
			misses = misses || order < 0 || order == 0 && of.strict && !m.squashed()
		}
		require(misses, "part %d of the goal holds", k)
	}
}

// floatScores adds the values of one leaf for each tree as the library does, 3.1. A sum that overflows is of a score
// that no comparison reads (7.1); it is left at 0.
func (m *ensemble) floatScores(leaves []int) []*big.Rat {
	out := make([]*big.Rat, len(m.start))
	divide := new(big.Rat).SetInt(m.divide)
	for k, x := range m.start {
		for t, n := range leaves {
			if m.single {
				x = float64(float32(x) + float32(m.trees[t].value[n][k]))
			} else {
				x = float64(x + m.trees[t].value[n][k])
			}
		}
		out[k] = new(big.Rat)
		if !(x-x == 0) {
			continue
		}
		out[k] = rat(x)
		if m.divide.Cmp(one) == 0 {
			continue
		}
		quotient := quo(out[k], divide)
		if m.single {
			y, _ := quotient.Float32()
			out[k] = rat(float64(y))
		} else {
			y, _ := quotient.Float64()
			out[k] = rat(y)
		}
	}
	return out
}
