package main

import (
	"fmt"
	"math/big"
	"reflect"
	"sort"
	"strings"
)

// FORMAT 11: sets. Facts are certificates of their own; what is done here is to try all choices of regions.

const maxChoices = 2_000_000

type setAsked struct {
	count            *big.Int // how many points are asked for
	features, values bool
	apart            *big.Int // costs below this are below the least distance of any two; nil: none
	regions          [][]*span
	earliest         map[string]int // the first region with a box
	prices           []price
	priced           bool
}

// price is paid by a point that changes a feature to an index, or (index nil) that changes these features alone.
type price struct {
	feature int
	index   *big.Int
	changed []bool
	amount  *big.Rat
}

// setFact says that outside some boxes nothing is nearer than lower; nil: there is nothing.
type setFact struct {
	boxes [][]*span
	names map[string]bool // of the boxes
	lower *big.Rat
}

// nameOf writes the spans of a box: boxes that are not empty have one name if they are the same.
func nameOf(box []*span) string {
	var out strings.Builder
	for _, s := range box {
		if s.mask != nil {
			fmt.Fprintf(&out, "%s;", s.mask)
		} else {
			fmt.Fprintf(&out, "%s,%s;", s.lo, s.hi)
		}
	}
	return out.String()
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
		return fmt.Sprintf("there are no %v points that differ as it is asked", c.setCount)
	}
	q, _ := c.claim.Float64()
	return fmt.Sprintf("no %v points that differ as it is asked have a sum of distances below about %v", c.setCount, q)
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
	f := object(value, "count", "features", "values", "apart", "regions", "prices?")
	asked := &setAsked{earliest: map[string]int{}, count: integer(f["count"]), features: boolean(f["features"]), values: boolean(f["values"])}
	require(asked.count.Sign() > 0, "expected an integer from 1 on")
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
		if _, there := asked.earliest[nameOf(box)]; !there {
			asked.earliest[nameOf(box)] = len(asked.regions)
		}
		asked.regions = append(asked.regions, box)
	}
	if value, there := f["prices"]; there {
		c.setPrices(asked, value)
	}
	return asked
}

// setPrices reads what a point pays for what no two points of a set share, 11.8.
func (c *checker) setPrices(asked *setAsked, value any) {
	require(!c.anywhere, "prices, and the claim is not about a sum")
	f := object(value, "values", "features")
	asked.priced = true
	amount := func(value any) *big.Rat {
		q := rational(value)
		require(q.Sign() >= 0, "a price below 0")
		return q
	}
	for _, item := range list(f["values"]) {
		require(asked.values, "a price for a value that two answers may have")
		parts := listOf(item, 3)
		j := small(parts[0], 0, len(c.axes)-1)
		i := c.axes[j].index(parts[1])
		require(i.Cmp(c.axes[j].start) != 0, "a price for no change")
		asked.prices = append(asked.prices, price{feature: j, index: i, amount: amount(parts[2])})
	}
	for _, item := range list(f["features"]) {
		require(asked.features, "a price for features that two answers may change")
		parts := listOf(item, 2)
		changed := make([]bool, len(c.axes))
		for _, j := range list(parts[0]) {
			changed[small(j, 0, len(c.axes)-1)] = true
		}
		asked.prices = append(asked.prices, price{changed: changed, amount: amount(parts[1])})
	}
}

// pays returns what every point of a box pays.
func (c *checker) pays(asked *setAsked, box []*span) *big.Rat {
	out := new(big.Rat)
	if !asked.priced {
		return out
	}
	changed, known := make([]bool, len(box)), true
	for j, axis := range c.axes {
		moved, sure := axis.moves(box[j])
		changed[j], known = moved, known && sure
	}
	for _, p := range asked.prices {
		if p.index != nil {
			if only := box[p.feature].single(); only != nil && only.Cmp(p.index) == 0 {
				out.Add(out, p.amount)
			}
		} else if known && reflect.DeepEqual(changed, p.changed) {
			out.Add(out, p.amount)
		}
	}
	return out
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
	out := &setFact{names: map[string]bool{}}
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
			out.names[nameOf(sub.avoid[k].box)] = true
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
	items := list(value)
	require(asked.count.Cmp(big.NewInt(int64(len(items)))) == 0, "expected as many points as are asked for")
	for _, item := range items {
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
	if k < len(asked.regions) {
		// A box has points in common with itself.
		name := nameOf(asked.regions[k])
		if fact.names[name] && asked.earliest[name] == k {
			return false
		}
	}
	for _, box := range fact.boxes {
		if k < len(asked.regions) && noneInCommon(box, asked.regions[k]) {
			continue
		}
		first, there := asked.earliest[nameOf(box)]
		if !there || first >= k {
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

// nearest returns the least distance that the box of a region tells: of one point all of it.
func (c *checker) nearest(box []*span) *big.Rat {
	out := new(big.Rat).SetFrac(c.leastDistance(box), c.common)
	point := make([]*big.Int, len(box))
	for j, s := range box {
		if point[j] = s.single(); point[j] == nil {
			return out
		}
	}
	return add(out, c.size(point))
}

// tryAll refuses where some choice of regions that go together has a sum below the claim, 11.6.
func (c *checker) tryAll(asked *setAsked, facts []*setFact) {
	type bounded struct {
		region      int
		lower, full *big.Rat // full: with what is paid
	}
	var regions []bounded
	rest := len(asked.regions)
	for k := 0; k <= rest; k++ {
		least, paid, some := new(big.Rat), new(big.Rat), true
		if k < rest {
			least, paid = c.nearest(asked.regions[k]), c.pays(asked, asked.regions[k])
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
			regions = append(regions, bounded{k, least, add(least, paid)})
		}
	}
	sort.SliceStable(regions, func(i, j int) bool { return regions[i].full.Cmp(regions[j].full) < 0 })
	var limit *big.Rat
	if !c.anywhere {
		limit = new(big.Rat).Set(c.claim)
		for _, p := range asked.prices {
			limit.Add(limit, p.amount)
		}
		// What is too dear beside the cheapest ones is in no choice below the claim.
		end := len(regions)
		for end > 0 {
			others := mul(regions[0].full, new(big.Rat).SetInt(new(big.Int).Sub(asked.count, one)))
			if add(others, regions[end-1].full).Cmp(limit) < 0 {
				break
			}
			end--
		}
		regions = regions[:end]
	}
	goes := make([][]bool, len(regions))
	for i, one := range regions {
		goes[i] = make([]bool, len(regions))
		for j, other := range regions {
			goes[i][j] = one.region == rest || other.region == rest ||
				c.together(asked, asked.regions[one.region], asked.regions[other.region])
		}
	}
	steps := 0
	var extend func(chosen []int, since int, sum, full *big.Rat)
	extend = func(chosen []int, since int, sum, full *big.Rat) {
		left := new(big.Int).Sub(asked.count, big.NewInt(int64(len(chosen))))
		if left.Sign() == 0 {
			require(!c.anywhere && sum.Cmp(c.claim) >= 0, "regions that go together have a sum of %s", sum.RatString())
			return
		}
	next:
		for n := since; n < len(regions); n++ {
			all := mul(regions[n].full, new(big.Rat).SetInt(left))
			if !c.anywhere && add(full, all).Cmp(limit) >= 0 {
				return
			}
			for _, m := range chosen {
				if !goes[m][n] {
					continue next
				}
			}
			steps++
			require(steps <= maxChoices, "too many choices")
			extend(append(append([]int(nil), chosen...), n), n, add(sum, regions[n].lower), add(full, regions[n].full))
		}
	}
	extend(nil, 0, new(big.Rat), new(big.Rat))
}
