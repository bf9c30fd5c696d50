package main

import "sort"

// FORMAT 6.20: prices as changes of earlier ones. What makes no sense stays as it is, and is refused where it is read.

const (
	mostUnits = 1 << 31 // what prices are below
	farthest  = 31      // the most binary places by which they are moved
)

// pricesByNumber has n by the number of a node or of a clique, in order.
type pricesByNumber struct{ numbers, units []int64 }

// partPrices has those of a part: of nodes, then of cliques.
type partPrices [2]pricesByNumber

// withOwnPrices returns the nodes of a proof, each part of which has its own prices.
func withOwnPrices(nodes []any) []any {
	var earlier []*partPrices // nil for a part that no later one may change
	made := make([]any, len(nodes))
	for i, node := range nodes {
		made[i] = node
		fields, ok := node.([]any)
		if !ok || len(fields) == 0 || fields[0] != "prices" && fields[0] != "narrow" {
			continue
		}
		own := make([]any, len(fields))
		for k, field := range fields {
			own[k] = field
			part, ok := field.(map[string]any)
			if !ok {
				continue
			}
			var prices *partPrices
			if _, changes := part["like"]; !changes {
				prices = readOwn(part)
			} else if prices = readChanges(part, earlier); prices != nil {
				own[k] = prices.inPlaceOf(part)
			}
			earlier = append(earlier, prices)
		}
		made[i] = own
	}
	return made
}

// readOwn returns the prices of a part that has them in columns, nil if these make no sense.
func readOwn(part map[string]any) *partPrices {
	nodes, ok := readNumbered(part["prices"], "nodes")
	cliques, there := part["cliques"]
	if !ok {
		return nil
	}
	if !there {
		return &partPrices{nodes, {}}
	}
	shared, ok := readNumbered(cliques, "numbers")
	if !ok {
		return nil
	}
	return &partPrices{nodes, shared}
}

// readChanges returns the prices of a part that changes those of an earlier one, nil if that makes no sense.
func readChanges(part map[string]any, earlier []*partPrices) *partPrices {
	back, ok := wholeOf(part["like"], 1, int64(len(earlier)+1))
	shift, fits := wholeOf(part["shift"], -farthest, farthest+1)
	if !ok || !fits || earlier[len(earlier)-int(back)] == nil {
		return nil
	}
	before := earlier[len(earlier)-int(back)]
	nodes, ok := before[0].changed(part["prices"], "nodes", shift)
	cliques, fits := before[1].changed(part["cliques"], "numbers", shift)
	if !ok || !fits {
		return nil
	}
	return &partPrices{nodes, cliques}
}

// changed returns what is left of earlier prices after a column of changes, with those that are added.
func (p pricesByNumber) changed(value any, name string, shift int64) (pricesByNumber, bool) {
	found := map[int64]int64{}
	given, ok := value.(map[string]any)
	if !ok || len(given) != 3 {
		return p, false
	}
	changes, ok := given["changes"].([]any)
	added, fits := readNumbered(map[string]any{name: given[name], "units": given["units"]}, name)
	if !ok || !fits || len(changes) != len(p.numbers) {
		return p, false
	}
	for i, number := range p.numbers {
		change, ok := wholeOf(changes[i], 1-mostUnits, mostUnits)
		n := p.units[i]
		if shift >= 0 {
			n <<= uint(shift)
		} else {
			n = (n + 1<<uint(-shift-1)) >> uint(-shift)
		}
		if n += change; !ok || n < 0 || n >= mostUnits {
			return p, false
		}
		found[number] = n
	}
	for i, number := range added.numbers {
		if _, there := found[number]; there {
			return p, false
		}
		found[number] = added.units[i]
	}
	return inOrder(found), true
}

// inOrder returns the prices that are not 0.
func inOrder(found map[int64]int64) pricesByNumber {
	var made pricesByNumber
	for number, n := range found {
		if n > 0 {
			made.numbers = append(made.numbers, number)
		}
	}
	sort.Slice(made.numbers, func(i, k int) bool { return made.numbers[i] < made.numbers[k] })
	for _, number := range made.numbers {
		made.units = append(made.units, found[number])
	}
	return made
}

// readNumbered reads two columns, steps from number to number and what each has.
func readNumbered(value any, name string) (pricesByNumber, bool) {
	var made pricesByNumber
	columns, ok := value.(map[string]any)
	if !ok || len(columns) != 2 {
		return made, false
	}
	steps, ok := columns[name].([]any)
	units, fits := columns["units"].([]any)
	if !ok || !fits || len(steps) != len(units) {
		return made, false
	}
	number := int64(0)
	for i := range steps {
		least := int64(1)
		if i == 0 {
			least = 0
		}
		step, ok := wholeOf(steps[i], least, mostUnits)
		n, fits := wholeOf(units[i], 0, mostUnits)
		if number += step; !ok || !fits || number >= mostUnits {
			return made, false
		}
		made.numbers, made.units = append(made.numbers, number), append(made.units, n)
	}
	return made, true
}

// inPlaceOf returns a part with these prices in the place of its changes.
func (p *partPrices) inPlaceOf(part map[string]any) map[string]any {
	own := map[string]any{}
	for name, value := range part {
		if name != "like" && name != "shift" && name != "cliques" {
			own[name] = value
		}
	}
	own["prices"] = p[0].columns("nodes")
	if len(p[1].numbers) > 0 {
		own["cliques"] = p[1].columns("numbers")
	}
	return own
}

func (p pricesByNumber) columns(name string) map[string]any {
	steps, units := make([]any, len(p.numbers)), make([]any, len(p.numbers))
	last := int64(0)
	for i, number := range p.numbers {
		steps[i], units[i], last = number-last, p.units[i], number
	}
	return map[string]any{name: steps, "units": units}
}

// wholeOf returns a whole number from low to below end, and whether it is one.
func wholeOf(value any, low, end int64) (int64, bool) {
	n, ok := value.(int64)
	return n, ok && n >= low && n < end
}
