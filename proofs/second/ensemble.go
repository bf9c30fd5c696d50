package main

import (
	"fmt"
	"math"
	"math/big"
	"sort"
)

// FORMAT 3.1 and 5: ensembles of trees, their tests and the cuts of these.

const maxNodes = 10_000_000

type tree struct {
	column      []int
	test        []int // which of the ensemble's tests, of inner nodes
	left, right []int
	parent      []int
	value       [][]float64 // rounded to the dtype; nil for inner nodes
	boxes       map[int]map[int]*span
}

// test of a column: x test threshold, or a set of floats. Its sides are indices of the feature; nil says nothing.
type test struct {
	column      int
	threshold   float64
	set         map[string]bool // integers as text
	left, right *span
}

type ensemble struct {
	rule        string
	ordered     bool
	failing     float64 // `error`
	cast        string
	strict      bool // the test is <
	single      bool // dtype float32
	divide      *big.Int
	start       []float64
	trees       []*tree
	begin       []int // where the nodes of each tree begin, if those of all are counted; their number at the end
	tests       []*test
	columns     []*column
	comparisons map[*comparison]*slack
	exponent    int // every stored value is an integer over 2^exponent
	differences map[*comparison][]map[int]*big.Int
	startOf     map[*comparison]*big.Int
}

func (m *ensemble) squashed() bool { return m.rule == "sigmoid" || m.rule == "softmax" }

var rules = []string{"argmax", "positive", "nonnegative", "value", "sigmoid", "softmax"}

func readEnsemble(value any, w *world) *ensemble {
	f := object(value, "kind", "rule", "ordered", "error", "cast", "test", "dtype", "divide", "start", "trees")
	m := &ensemble{rule: oneOf(f["rule"], rules...), ordered: boolean(f["ordered"]), failing: float(f["error"])}
	require(m.failing >= 0, "the error is negative")
	m.cast = oneOf(f["cast"], "float64", "float32")
	m.strict = oneOf(f["test"], "<=", "<") == "<"
	m.single = oneOf(f["dtype"], "float64", "float32") == "float32"
	m.divide = integer(f["divide"])
	require(m.divide.Sign() > 0, "the divisor is not positive")
	m.columns = w.columns
	m.start = m.stored(f["start"])
	known := map[string]int{}
	nodes := 0
	m.begin = []int{0}
	for _, t := range list(f["trees"]) {
		read := m.readTree(t, known)
		m.trees = append(m.trees, read)
		if nodes += len(read.column); nodes > maxNodes {
			giveUp("too large: more than %d nodes of trees", maxNodes)
		}
		m.begin = append(m.begin, nodes)
	}
	return m
}

// stored reads floats and rounds them to the dtype.
func (m *ensemble) stored(value any) []float64 {
	out := floats(value)
	if m.single {
		for i, x := range out {
			out[i] = float64(float32(x))
			require(!math.IsInf(out[i], 0), "a value overflows")
		}
	}
	return out
}

func (m *ensemble) readTree(value any, known map[string]int) *tree {
	f := object(value, "column", "threshold", "left", "right", "value")
	columns := list(f["column"])
	count := len(columns)
	require(count > 0, "a tree without nodes")
	thresholds, values := listOf(f["threshold"], count), listOf(f["value"], count)
	lefts, rights := listOf(f["left"], count), listOf(f["right"], count)
	t := &tree{boxes: map[int]map[int]*span{}, value: make([][]float64, count)}
	t.column, t.test, t.parent = make([]int, count), make([]int, count), make([]int, count)
	t.left, t.right = make([]int, count), make([]int, count)
	for n := range columns {
		t.column[n] = small(columns[n], -1, len(m.columns)-1)
		if t.column[n] < 0 {
			small(thresholds[n], 0, 0)
			small(lefts[n], 0, 0)
			small(rights[n], 0, 0)
			t.value[n] = m.stored(values[n])
			require(len(t.value[n]) == len(m.start), "a leaf has one float for each score")
			continue
		}
		require(values[n] == nil, "an inner node has a value")
		t.left[n], t.right[n] = small(lefts[n], n+1, count-1), small(rights[n], n+1, count-1)
		for _, child := range []int{t.left[n], t.right[n]} {
			require(t.parent[child] == 0, "a node is the child of two")
			t.parent[child] = n + 1
		}
		t.test[n] = m.readTest(t.column[n], thresholds[n], known)
	}
	for n := 1; n < count; n++ {
		require(t.parent[n] != 0, "a node is the child of none")
		t.parent[n]--
	}
	t.parent[0] = -1
	return t
}

// readTest numbers the different tests in the order of their first occurrence, 5.1.
func (m *ensemble) readTest(c int, threshold any, known map[string]int) int {
	test := &test{column: c}
	var key string
	if integers, ok := threshold.([]any); ok {
		require(m.columns[c].axis.levels, "a set of integers is a test of levels only")
		test.set = map[string]bool{}
		for _, n := range integers {
			test.set[integer(n).String()] = true
		}
		var all []string
		for n := range test.set {
			all = append(all, n)
		}
		sort.Strings(all)
		key = fmt.Sprint(c, all)
	} else {
		test.threshold = float(threshold)
		key = fmt.Sprint(c, " ", math.Float64bits(test.threshold))
	}
	if number, seen := known[key]; seen {
		return number
	}
	known[key] = len(m.tests)
	m.tests = append(m.tests, test)
	return len(m.tests) - 1
}

// passes says whether a row with this float in the column of a test goes left.
func (m *ensemble) passes(t *test, x float64) bool {
	if m.cast == "float32" {
		x = float64(float32(x))
	}
	if t.set != nil {
		if math.IsInf(x, 0) || x != math.Trunc(x) {
			return false
		}
		n, _ := new(big.Float).SetFloat64(x).Int(nil)
		return t.set[n.String()]
	}
	if m.strict {
		return x < t.threshold
	}
	return x <= t.threshold
}

// readCuts finds the sides of all tests, 5.2 to 5.4.
func (m *ensemble) readCuts(value any) {
	cuts := listOf(value, len(m.tests))
	for n, t := range m.tests {
		c := m.columns[t.column]
		if !c.axis.levels {
			m.cut(t, c, cuts[n])
			continue
		}
		require(cuts[n] == nil, "the cut of a test of levels is null")
		t.left, t.right = &span{mask: new(big.Int)}, &span{mask: new(big.Int)}
		for i, x := range c.table {
			side := t.right
			if m.passes(t, x) {
				side = t.left
			}
			side.mask.SetBit(side.mask, i, 1)
		}
	}
}

// cut checks the cut of a test of a grid at the indices before and after it, 5.3.
func (m *ensemble) cut(t *test, c *column, value any) {
	if value == nil {
		return
	}
	a, k := c.axis, integer(value)
	after := new(big.Int).Add(k, one)
	require(after.Cmp(a.lower) >= 0 && k.Cmp(a.top) <= 0, "a cut outside the grid")
	if k.Cmp(a.lower) >= 0 {
		require(m.passes(t, c.given(k)) != c.falling, "a cut that is elsewhere")
	}
	if k.Cmp(a.top) < 0 {
		require(m.passes(t, c.given(after)) == c.falling, "a cut that is elsewhere")
	}
	t.left, t.right = &span{lo: a.lower, hi: k}, &span{lo: after, hi: a.top}
	if c.falling {
		t.left, t.right = t.right, t.left
	}
}

// child narrows the span of the feature of an inner node's test to the side of one of its children.
func (m *ensemble) child(t *tree, n, child int) (int, *span) {
	test := m.tests[t.test[n]]
	side := test.left
	if child == t.right[n] {
		side = test.right
	}
	return m.columns[test.column].feature, side
}

// path returns the sides of all tests from the root of a tree to a node, by feature.
func (m *ensemble) path(t *tree, leaf int) map[int]*span {
	if known, ok := t.boxes[leaf]; ok {
		return known
	}
	out := map[int]*span{}
	for n := leaf; t.parent[n] >= 0; n = t.parent[n] {
		j, side := m.child(t, t.parent[n], n)
		if side == nil {
			continue
		}
		if before, ok := out[j]; ok {
			side = before.meet(side)
		}
		out[j] = side
	}
	t.boxes[leaf] = out
	return out
}

// reached returns the leaves of a tree that the walk of section 6 reaches in a box.
func (m *ensemble) reached(w *world, t *tree, box []*span) map[int]bool {
	out := map[int]bool{}
	type step struct {
		node int
		box  []*span
	}
	if w.tooFar(w.leastDistance(box)) {
		return out
	}
	todo := []step{{0, box}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t.column[s.node] < 0 {
			out[s.node] = true
			continue
		}
		for _, child := range []int{t.left[s.node], t.right[s.node]} {
			j, side := m.child(t, s.node, child)
			inside := s.box
			if side != nil {
				narrow := s.box[j].meet(side)
				if narrow.empty() {
					continue
				}
				inside = append([]*span(nil), s.box...)
				inside[j] = narrow
			}
			if !w.tooFar(w.leastDistance(inside)) {
				todo = append(todo, step{child, inside})
			}
		}
	}
	return out
}
