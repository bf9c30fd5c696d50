package main

import (
	"fmt"
	"math/big"
	"reflect"
	"sort"
)

// FORMAT 11: sets. Facts are certificates of their own; what is done here is to try all choices of regions.

const maxChoices = 2_000_000

type setAsked struct {
	count            int
	features, values bool
	apart            *big.Int // costs below this are below the least distance of any two; nil: none
	regions          [][]*span
}

// setFact says that outside some boxes nothing is nearer than lower; nil: there is nothing.
type setFact struct {
	boxes [][]*span
	lower *big.Rat
}

func (c *checker) set(value any, folder string) {
	f := object(value, "mace_set", "about?", "statement", "set", "witness", "facts")
	require(f["mace_set"] == int64(1), "no certificate of a set of form 1")
	base, ok := f["statement"].(map[string]any)
	require(ok, "a statement is an object")
	c.about(base, nil, folder)
	asked := c.readSet(f["set"])
	facts := make([]*setFact, 0)
	for _, item := range list(f["facts"]) {
		c.where = "a fact"
		facts = append(facts, c.fact(item, base, folder))
	}
	c.setWitness(f["witness"], base, asked, folder)
	c.where = "the set"
	c.tryAll(asked, facts)
	c.setCount = asked.count
}

func (c *checker) saysOfSet() string {
	if c.anywhere {
		return fmt.Sprintf("there are no %d points that differ as it is asked", c.setCount)
	}
	q, _ := c.claim.Float64()
	return fmt.Sprintf("no %d points that differ as it is asked have a sum of distances below about %v", c.setCount, q)
}

// about reads a statement; cuts nil: no test has one.
func (c *checker) about(base map[string]any, cuts any, folder string) {
	if cuts == nil {
		model, _ := base["model"].(map[string]any)
		none := []any{}
		if model["sha256"] != nil {
			model, _ = sharedModel(folder, model["sha256"]).(map[string]any)
		}
		if model["kind"] == "ensemble" {
			// One entry for each test, of which the model knows how many.
			probe := &checker{where: c.where}
			probe.world = readWorld(base)
			none = make([]any, len(readEnsemble(model, probe.world).tests))
		}
		cuts = none
	}
	c.statement(base, cuts, folder)
}

func (c *checker) readSet(value any) *setAsked {
	c.where = "the set"
	f := object(value, "count", "features", "values", "apart", "regions")
	asked := &setAsked{count: small(f["count"], 1, maxChoices), features: boolean(f["features"]), values: boolean(f["values"])}
	if f["apart"] != nil {
		q := rational(f["apart"])
		require(q.Sign() > 0, "answers that are nothing apart")
		require(c.forms.count == 0, "a least distance, beside forms")
		asked.apart = c.scaled(q)
	}
	for _, item := range list(f["regions"]) {
		spans := listOf(item, len(c.axes))
		box := make([]*span, len(spans))
		for j, s := range spans {
			box[j] = c.axes[j].span(s)
			require(!box[j].empty(), "an empty region")
		}
		asked.regions = append(asked.regions, box)
	}
	return asked
}

// with returns an object with other fields.
func with(base map[string]any, other map[string]any) map[string]any {
	out := make(map[string]any, len(base))
	for name, value := range base {
		out[name] = value
	}
	for name, value := range other {
		out[name] = value
	}
	return out
}

func (c *checker) fact(value any, base map[string]any, folder string) *setFact {
	f := object(value, "avoid", "claim", "cuts", "proof")
	sub := &checker{where: c.where}
	sub.statement(with(base, map[string]any{"avoid": f["avoid"], "claim": f["claim"]}), f["cuts"], folder)
	sub.proof(f["proof"])
	out := &setFact{}
	if !sub.anywhere {
		out.lower = sub.claim
	}
	known := list(base["avoid"])
	for k, item := range list(f["avoid"]) {
		same := false
		for _, other := range known {
			same = same || reflect.DeepEqual(item, other)
		}
		if !same {
			require(sub.avoid[k].box != nil, "it excludes more than boxes")
			out.boxes = append(out.boxes, sub.avoid[k].box)
		}
	}
	return out
}

func (c *checker) setWitness(value any, base map[string]any, asked *setAsked, folder string) {
	c.where = "the witness"
	if value == nil {
		return
	}
	require(!c.anywhere, "a witness against the claim that there is none")
	sum := new(big.Rat)
	var boxes [][]*span
	for _, item := range listOf(value, asked.count) {
		sub := &checker{where: c.where}
		sub.about(with(base, map[string]any{"claim": map[string]any{"closer_than": "0"}}), nil, folder)
		require(item != nil, "a witness is an object")
		sub.witness(item)
		f := object(item, "point", "distance")
		box := c.pointBox(c.readPoint(f["point"]))
		for _, other := range boxes {
			require(c.together(asked, box, other), "two that clash")
		}
		boxes = append(boxes, box)
		sum.Add(sum, rational(f["distance"]))
	}
	require(sum.Cmp(c.claim) >= 0, "it is against the claim")
}

func sameSpan(a, b *span) bool { return a.within(b) && b.within(a) }

func sameBox(a, b []*span) bool {
	for j := range a {
		if !sameSpan(a[j], b[j]) {
			return false
		}
	}
	return true
}

func noneInCommon(a, b []*span) bool {
	for j := range a {
		if a[j].meet(b[j]).empty() {
			return true
		}
	}
	return false
}

// speaks says whether a fact bounds region k, 11.4.
func (asked *setAsked) speaks(fact *setFact, k int) bool {
	for _, box := range fact.boxes {
		fits := k < len(asked.regions) && noneInCommon(box, asked.regions[k])
		for _, earlier := range asked.regions[:k] {
			fits = fits || sameBox(box, earlier)
		}
		if !fits {
			return false
		}
	}
	return true
}

// together says whether points of two boxes may stand in one set, 11.5.
func (c *checker) together(asked *setAsked, a, b []*span) bool {
	point, known, value := true, true, false
	sum, top := new(big.Int), new(big.Int)
	for j, axis := range c.axes {
		alone := sameSpan(a[j], b[j]) && a[j].single() != nil
		point = point && alone
		moved, sure := axis.moves(a[j])
		other, also := axis.moves(b[j])
		known = known && sure && also && moved == other
		value = value || alone && sure && moved
		var far, high *big.Int
		for _, i := range axis.candidates(a[j], axis.start) {
			p, t := axis.greatest(b[j], i)
			if far == nil || p.Cmp(far) > 0 {
				far = p
			}
			if high == nil || t.Cmp(high) > 0 {
				high = t
			}
		}
		sum.Add(sum, far)
		if high.Cmp(top) > 0 {
			top = high
		}
	}
	if point || asked.features && known || asked.values && value {
		return false
	}
	return asked.apart == nil || sum.Add(sum, top).Cmp(asked.apart) >= 0
}

// moves says whether all indices of a span are a change, or none is; and whether either is so.
func (a *axis) moves(s *span) (bool, bool) {
	if !s.has(a.start) {
		return true, true
	}
	return false, s.single() != nil
}

// tryAll refuses where some choice of regions that go together has a sum below the claim, 11.6.
func (c *checker) tryAll(asked *setAsked, facts []*setFact) {
	type bounded struct {
		region int
		lower  *big.Rat
	}
	var regions []bounded
	rest := len(asked.regions)
	for k := 0; k <= rest; k++ {
		least, some := new(big.Rat), true
		if k < rest {
			least.SetFrac(c.leastDistance(asked.regions[k]), c.common)
		}
		for _, fact := range facts {
			if asked.speaks(fact, k) {
				if fact.lower == nil {
					some = false
				} else if fact.lower.Cmp(least) > 0 {
					least = fact.lower
				}
			}
		}
		if some {
			regions = append(regions, bounded{k, least})
		}
	}
	sort.SliceStable(regions, func(i, j int) bool { return regions[i].lower.Cmp(regions[j].lower) < 0 })
	goes := make([][]bool, len(regions))
	for i, one := range regions {
		goes[i] = make([]bool, len(regions))
		for j, other := range regions {
			goes[i][j] = one.region == rest || other.region == rest ||
				c.together(asked, asked.regions[one.region], asked.regions[other.region])
		}
	}
	steps := 0
	var extend func(chosen []int, since int, sum *big.Rat)
	extend = func(chosen []int, since int, sum *big.Rat) {
		left := asked.count - len(chosen)
		require(left > 0, "regions that go together have a sum of %s", sum.RatString())
	next:
		for n := since; n < len(regions); n++ {
			all := mul(regions[n].lower, whole(int64(left)))
			if !c.anywhere && add(sum, all).Cmp(c.claim) >= 0 {
				return
			}
			for _, m := range chosen {
				if !goes[m][n] {
					continue next
				}
			}
			steps++
			require(steps <= maxChoices, "too many choices")
			extend(append(append([]int(nil), chosen...), n), n, add(sum, regions[n].lower))
		}
	}
	extend(nil, 0, new(big.Rat))
}
