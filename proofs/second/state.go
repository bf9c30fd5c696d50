package main

import "math/big"

// FORMAT 6: the states of a proof. Boxes, leaves and intervals are shared between states and never changed.

// leafSet is the leaves of one tree that are alive.
type leafSet struct {
	leaves map[int]bool
	best   map[*comparison]*big.Int // the greatest difference, where it is known
}

// unitState is what is known of one hidden unit: its interval in multiples of 2^-100 (nil: without end) and its phase.
type unitState struct {
	low, high *big.Int
	phase     int // 1: z >= 0, -1: z <= 0, 0: none
}

type state struct {
	empty   bool
	parts   []int // of the goal, those that are open
	divided bool  // a list that is not the root's
	box     []*span
	alive   []*leafSet
	cliques [][]place
	units   [][]unitState // of every layer; nil for one without hidden units
}

// narrowed returns the state with another span on an axis.
func (s *state) narrowed(j int, to *span) *state {
	out := *s
	out.box = append([]*span(nil), s.box...)
	out.box[j] = to
	out.empty = out.empty || to.empty()
	return &out
}

// withUnit returns the state with something else known of a hidden unit.
func (s *state) withUnit(layer, unit int, to unitState) *state {
	out := *s
	out.units = append([][]unitState(nil), s.units...)
	out.units[layer] = append([]unitState(nil), s.units[layer]...)
	out.units[layer][unit] = to
	out.empty = out.empty || to.low != nil && to.high != nil && to.low.Cmp(to.high) > 0
	return &out
}

// size is the number of things that a state keeps, at most.
func (s *state) size() int {
	n := 1 + len(s.box) + len(s.alive) + len(s.cliques)
	if s.divided {
		n += len(s.parts)
	}
	for _, layer := range s.units {
		n += len(layer)
	}
	return n
}
