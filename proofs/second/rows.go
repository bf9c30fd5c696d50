package main

import "math/big"

// FORMAT 13: the nearest of several rows. Facts are certificates of their own, each with a row for its start.

func (c *checker) rowsOf(value any, folder string) {
	f := object(value, "mace_rows", "about?", "statement", "rows", "witness", "facts")
	require(f["mace_rows"] == int64(1), "no certificate of rows of form 1")
	base, ok := f["statement"].(map[string]any)
	require(ok, "a statement is an object")
	c.about(base, nil, folder)
	require(!c.anywhere, "the claim is about distance")
	require(base["most_changes"] == nil, "changes are counted from no row")
	for _, r := range c.avoid {
		require(r.changes == nil, "changes are counted from no row")
	}
	rows := list(f["rows"])
	require(len(rows) > 0, "there is no row")
	for n, fact := range listOf(f["facts"], len(rows)) {
		c.where = "a fact"
		c.rowFact(begun(base, c.readPoint(rows[n])), fact, folder)
	}
	c.rowsWitness(f["witness"], base, rows, folder)
	c.rowCount = len(rows)
}

// begun returns the statement with a point in the place of the start.
func begun(base map[string]any, point []*big.Int) map[string]any {
	var features []any
	for j, feature := range list(base["features"]) {
		var start any = point[j]
		if point[j].IsInt64() {
			start = point[j].Int64()
		}
		features = append(features, with(feature.(map[string]any), map[string]any{"start": start}))
	}
	return with(base, map[string]any{"features": features})
}

// rowFact refuses unless no point against the claim is so near to a row.
func (c *checker) rowFact(said map[string]any, fact any, folder string) {
	sub := &checker{where: c.where}
	if fact == nil {
		sub.world = readWorld(said)
		all := make([]*span, len(sub.axes))
		for j, a := range sub.axes {
			all[j] = a.all()
		}
		require(sub.tooFar(sub.leastDistance(all)), "a row without a proof")
		return
	}
	f := object(fact, "cuts", "proof")
	sub.statement(said, f["cuts"], folder)
	sub.proof(f["proof"])
}

func (c *checker) rowsWitness(value any, base map[string]any, rows []any, folder string) {
	c.where = "the witness"
	if value == nil {
		return
	}
	f := object(value, "point", "distance")
	point := c.readPoint(f["point"])
	box := make([]*span, len(point))
	for j, i := range point {
		box[j] = &span{lo: i, hi: i}
		if c.axes[j].levels {
			box[j] = &span{mask: new(big.Int).Lsh(one, uint(i.Int64()))}
		}
	}
	var nearest *big.Rat
	for _, row := range rows {
		w := readWorld(begun(base, c.readPoint(row)))
		for _, s := range box {
			s.sum, s.top = nil, nil // they were kept for another start
		}
		far := add(new(big.Rat).SetFrac(w.leastDistance(box), w.common), w.size(point))
		if nearest == nil || far.Cmp(nearest) < 0 {
			nearest = far
		}
	}
	require(nearest.Cmp(rational(f["distance"])) == 0, "its distance is another")
	require(nearest.Cmp(c.claim) >= 0, "it is nearer than the claim")
	sub := &checker{where: c.where}
	sub.about(with(begun(base, point), map[string]any{"claim": map[string]any{"closer_than": "0"}}), nil, folder)
	sub.witness(map[string]any{"point": f["point"], "distance": "0"})
}
