package main

import "math/big"

// FORMAT 2.7 and 6.9: excluded regions.

type region struct {
	point   []*big.Int
	box     []*span
	changes []int
	near    []*big.Int
	radius  *big.Int // costs below this are below the radius
}

func (w *world) readRegion(value any) *region {
	f, ok := value.(map[string]any)
	require(ok, "an excluded region is an object")
	switch {
	case f["point"] != nil:
		return &region{point: w.readPoint(object(value, "point")["point"])}
	case f["box"] != nil:
		spans := listOf(object(value, "box")["box"], len(w.axes))
		r := &region{box: make([]*span, len(spans))}
		for j, s := range spans {
			r.box[j] = w.axes[j].span(s)
		}
		return r
	case f["changes"] != nil:
		r := &region{changes: []int{}}
		for _, j := range list(object(value, "changes")["changes"]) {
			r.changes = append(r.changes, small(j, 0, len(w.axes)-1))
		}
		return r
	}
	object(value, "near", "radius")
	return &region{near: w.readPoint(f["near"]), radius: w.scaled(rational(f["radius"]))}
}

// holds says whether a box without empty spans lies in the region.
func (r *region) holds(w *world, box []*span) bool {
	switch {
	case r.point != nil:
		for j, s := range box {
			if only := s.single(); only == nil || only.Cmp(r.point[j]) != 0 {
				return false
			}
		}
		return true
	case r.box != nil:
		for j, s := range box {
			if !s.within(r.box[j]) {
				return false
			}
		}
		return true
	case r.changes != nil:
		for _, j := range r.changes {
			if box[j].has(w.axes[j].start) {
				return false
			}
		}
		return true
	}
	sum, top := new(big.Int), new(big.Int)
	for j, s := range box {
		p, t := w.axes[j].greatest(s, r.near[j])
		sum.Add(sum, p)
		if t.Cmp(top) > 0 {
			top = t
		}
	}
	return sum.Add(sum, top).Cmp(r.radius) < 0
}
