package main

import (
	"fmt"
	"math/big"
	"strings"
)

// FORMAT 6: the proof, a tree of nodes in preorder.

// kept is how many spans, sets of leaves and intervals open states may keep together.
const kept = 100_000_000

type checker struct {
	*world
	trees *ensemble
	net   *network
	root  *state
	where string

	setCount *big.Int // of a certificate of a set, once it is accepted
	rowCount int      // of one of rows
	plans    *plans   // of a certificate of plans
	lines    int      // of actions that were run
	nodes    int      // of the proof, by now
}

// rule of a proof: apply returns the children of a state that is not empty, or refuses.
type rule struct {
	children int
	fields   int // -1: any number
	model    string
	apply    func(c *checker, s *state, fields []any) []*state
}

// leaf makes a rule of one that only refuses or does not.
func leaf(closes func(c *checker, s *state, fields []any)) func(*checker, *state, []any) []*state {
	return func(c *checker, s *state, fields []any) []*state {
		closes(c, s, fields)
		return nil
	}
}

func only(next func(c *checker, s *state, fields []any) *state) func(*checker, *state, []any) []*state {
	return func(c *checker, s *state, fields []any) []*state { return []*state{next(c, s, fields)} }
}

var proofRules = map[string]rule{
	"split":    {2, 2, "", (*checker).split},
	"part":     {2, 1, "", (*checker).part},
	"near":     {1, -1, "", only((*checker).near)},
	"prune":    {1, -1, "ensemble", only((*checker).prune)},
	"phase":    {2, 2, "network", (*checker).phase},
	"bounds":   {1, -1, "network", only((*checker).bounds)},
	"tighten":  {1, -1, "network", only((*checker).tighten)},
	"empty":    {0, 0, "", leaf((*checker).emptyLeaf)},
	"distance": {0, 0, "", leaf((*checker).distance)},
	"changes":  {0, 0, "", leaf((*checker).changes)},
	"avoid":    {0, 1, "", leaf((*checker).avoidLeaf)},
	"rule":     {0, 1, "", leaf((*checker).ruleLeaf)},
	"trees":    {0, -1, "ensemble", leaf((*checker).treesLeaf)},
	"cell":     {0, -1, "ensemble", leaf((*checker).cell)},
	"dual":     {0, -1, "network", leaf((*checker).dual)},
	"prices":   {0, -1, "ensemble", leaf((*checker).pricesLeaf)},
	"cliques":  {1, -1, "ensemble", only((*checker).cliques)},
	"narrow":   {1, -1, "ensemble", only((*checker).narrow)},
}

// proof refuses unless every open state is closed by the last node, and none before.
func (c *checker) proof(value any) {
	c.where = "the proof"
	c.closes(c.rootState(), c.nodesOf(value))
}

// counted gives up where there are too many nodes; those of all ends of plans are nodes of one proof.
func (c *checker) counted(nodes []any) {
	if c.nodes += len(nodes); c.nodes > maxNodes {
		giveUp("too large: a proof of more than %d nodes", maxNodes)
	}
}

// closes refuses unless nodes are a proof that no point of a state is against the claim.
func (c *checker) closes(root *state, nodes []any) {
	c.counted(nodes)
	c.root = root
	within := strings.TrimSuffix(c.where, "the proof")
	if within != "" {
		within += ": "
	}
	stack := []*state{c.root}
	open := c.root.size()
	for k, node := range nodes {
		c.where = fmt.Sprintf("%snode %d", within, k)
		require(len(stack) > 0, "no state is open")
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		open -= s.size()
		children := c.node(s, list(node))
		for i := len(children) - 1; i >= 0; i-- {
			stack = append(stack, children[i])
			open += children[i].size()
		}
		if open > kept {
			giveUp("too large: open states keep too much")
		}
	}
	c.where = within + "the end of the proof"
	require(len(stack) == 0, "%d states are open", len(stack))
}

func (c *checker) node(s *state, node []any) []*state {
	require(len(node) > 0, "a node is a list that begins with the name of its rule")
	name := text(node[0])
	fields := node[1:]
	r, known := proofRules[name]
	require(known, "no such rule")
	c.where += ": " + name
	kind := "network"
	if c.trees != nil {
		kind = "ensemble"
	}
	require(r.model == "" || r.model == kind, "a rule of another kind of model")
	require(r.fields < 0 || r.fields == len(fields), "the rule has %d fields", r.fields)
	if !s.empty {
		return r.apply(c, s, fields)
	}
	var children []*state
	for i := 0; i < r.children; i++ {
		children = append(children, s)
	}
	return children
}

// rootState holds all allowed indices, all parts of the goal, all leaves that are reached, and nothing of hidden units.
func (c *checker) rootState() *state {
	box := []*span{}
	for _, a := range c.axes {
		box = append(box, a.all())
	}
	return c.stateOf(box)
}

// stateOf is the root of a proof about the points of a box.
func (c *checker) stateOf(box []*span) *state {
	s := &state{box: box}
	for k := range c.goal {
		s.parts = append(s.parts, k)
	}
	if c.trees != nil {
		for _, t := range c.trees.trees {
			set := &leafSet{c.trees.reached(c.world, t, s.box), map[*comparison]*big.Int{}}
			s.alive = append(s.alive, set)
			s.empty = s.empty || len(set.leaves) == 0
		}
		return s
	}
	for k, l := range c.net.layers {
		var units []unitState
		if c.net.hidden(k) {
			units = make([]unitState, len(l.bias))
		}
		s.units = append(s.units, units)
	}
	return s
}

func (c *checker) split(s *state, fields []any) []*state {
	j := small(fields[0], 0, len(c.axes)-1)
	a, whole := c.axes[j], s.box[j]
	if a.levels {
		at := a.mask(fields[1])
		return []*state{
			s.narrowed(j, &span{mask: new(big.Int).And(whole.mask, at)}),
			s.narrowed(j, &span{mask: new(big.Int).AndNot(whole.mask, at)}),
		}
	}
	at := integer(fields[1])
	return []*state{
		s.narrowed(j, whole.meet(&span{lo: whole.lo, hi: at})),
		s.narrowed(j, whole.meet(&span{lo: new(big.Int).Add(at, one), hi: whole.hi})),
	}
}

// part returns the state in which one part of the goal is open alone, and that with the others.
func (c *checker) part(s *state, fields []any) []*state {
	k := small(fields[0], 0, len(c.goal)-1)
	one, others := *s, *s
	one.parts, others.parts = []int{k}, nil
	for _, other := range s.parts {
		if other != k {
			others.parts = append(others.parts, other)
		}
	}
	require(len(others.parts) < len(s.parts), "the part of the goal is not open")
	one.divided, others.divided = true, true
	others.empty = len(others.parts) == 0
	return []*state{&one, &others}
}

func (c *checker) near(s *state, fields []any) *state {
	for _, field := range fields {
		items := listOf(field, 2)
		j := small(items[0], 0, len(c.axes)-1)
		keep := c.axes[j].span(items[1])
		others := new(big.Int)
		for k, other := range s.box {
			if k != j {
				p, _ := c.axes[k].least(other)
				others.Add(others, p)
			}
		}
		for _, gone := range outside(s.box[j], keep) {
			if gone.empty() {
				continue
			}
			p, t := c.axes[j].least(gone)
			cost := new(big.Int).Add(p, t)
			require(c.tooFar(cost.Add(cost, others)), "an index that goes is not too far")
		}
		if s = s.narrowed(j, s.box[j].meet(keep)); s.empty {
			return s
		}
	}
	return s
}

// outside returns the parts of a span that are not in another.
func outside(s, keep *span) []*span {
	if s.mask != nil {
		return []*span{{mask: new(big.Int).AndNot(s.mask, keep.mask)}}
	}
	if keep.empty() {
		return []*span{{lo: s.lo, hi: s.hi}}
	}
	below := &span{lo: s.lo, hi: new(big.Int).Sub(keep.lo, one)}
	above := &span{lo: new(big.Int).Add(keep.hi, one), hi: s.hi}
	return []*span{below.meet(s), above.meet(s)}
}

func (c *checker) emptyLeaf(*state, []any) { refuse("the state is not known to be empty") }

func (c *checker) distance(s *state, _ []any) {
	require(c.tooFar(c.leastDistance(s.box)), "the least distance is below the claim")
}

func (c *checker) changes(s *state, _ []any) {
	require(big.NewInt(int64(c.changed(s.box))).Cmp(c.mostChanges) > 0, "not too many features change")
}

// changed counts the axes of a box that do not hold their start.
func (w *world) changed(box []*span) int {
	count := 0
	for j, s := range box {
		if !s.has(w.axes[j].start) {
			count++
		}
	}
	return count
}

func (c *checker) avoidLeaf(s *state, fields []any) {
	k := small(fields[0], 0, len(c.avoid)-1)
	require(c.avoid[k].holds(c.world, s.box), "the box does not lie in the region")
}

func (c *checker) ruleLeaf(s *state, fields []any) {
	k := small(fields[0], 0, len(c.rules)-1)
	_, canTrue := c.rules[k].truthOn(c.world, s.box, nil)
	require(!canTrue, "the rule can be true")
}
