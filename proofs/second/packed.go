package main

import (
	"math"
	"sort"
)

// FORMAT 6.17: a proof in columns.

// nodesOf returns the nodes of a proof: of a list, or of an object with a column for each kind of node.
func (c *checker) nodesOf(proof any) []any {
	fields, packed := proof.(map[string]any)
	if !packed {
		if c.trees == nil {
			return list(proof)
		}
		return withOwnPrices(list(proof))
	}
	require(c.trees != nil, "this is not about this kind of model")
	f := object(fields, "rules", "places", "splits", "prune", "trees", "others")
	letters := text(f["rules"])
	if len(letters) > maxNodes {
		giveUp("too large: a proof of more than %d nodes", maxNodes)
	}
	places := list(f["places"])
	rest := map[rune][]any{'s': list(f["splits"]), 'p': list(f["prune"]), 't': list(f["trees"]), 'o': list(f["others"])}
	nodes := make([]any, 0, len(letters))
	for _, letter := range letters {
		require(len(rest[letter]) > 0, "a column of the proof ends before its rules")
		item := rest[letter][0]
		rest[letter] = rest[letter][1:]
		switch letter {
		case 's':
			place := listOf(places[small(item, 0, len(places)-1)], 2)
			nodes = append(nodes, []any{"split", place[0], place[1]})
		case 'p':
			nodes = append(nodes, append([]any{"prune"}, c.trees.byTree(list(item))...))
		case 't':
			nodes = append(nodes, append([]any{"trees"}, c.trees.byTree(list(item))...))
		default:
			nodes = append(nodes, item)
		}
	}
	for _, left := range rest {
		require(len(left) == 0, "a column of the proof goes on after its rules")
	}
	return withOwnPrices(nodes)
}

// byTree returns numbers of nodes, counted through all trees, as entries of a tree and nodes; a tree may have several.
func (m *ensemble) byTree(numbers []any) []any {
	var entries []any
	last := -1
	for _, number := range numbers {
		k, node := m.placeOf(small(number, 0, math.MaxInt32))
		if k != last {
			entries = append(entries, []any{int64(k)})
			last = k
		}
		own := entries[len(entries)-1].([]any)
		entries[len(entries)-1] = append(own, int64(node))
	}
	return entries
}

// placeOf returns the tree and the node of a number that counts the nodes of all trees.
func (m *ensemble) placeOf(number int) (int, int) {
	require(number < m.begin[len(m.trees)], "a number of a node that there is not")
	k := sort.Search(len(m.trees), func(k int) bool { return m.begin[k+1] > number })
	return k, number - m.begin[k]
}
