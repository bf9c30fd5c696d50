package main

import "math/big"

// FORMAT 12.2, 12.3 and 12.5: actions, and what encloses the states that they lead to.

const (
	maxBits = 10_000 // of a number of a line, above or below its stroke
	maxRun  = 1_000_000_000
)

// line is a number of its own, or an operation on earlier lines.
type line struct {
	op     string
	which  int      // of x and y the feature, of p the parameter
	number *big.Rat // of c
	parts  []int
	truth  bool
}

type parameter struct {
	step        *big.Rat
	first, last *big.Int
}

type change struct{ feature, line int }

type action struct {
	parameters    []parameter
	lines         []line // those of `then` last
	first         int    // how many come before them
	before, after []int
	changes       []change
	cost          int
	factors       [][]int
}

// enclosure of a line: an interval with the set of its values where that is known; low is nil where nothing is known.
// Of a condition: what it can be.
type enclosure struct {
	low, high         *big.Rat
	set               []*big.Rat
	canFalse, canTrue bool
}

// arity says of an operator how many parts it has (-1: at least one, -2: any number), and whether it takes and gives
// conditions.
type arity struct {
	parts         int
	takes, truths bool
}

var operators = map[string]arity{
	"+": {-1, false, false}, "min": {-1, false, false}, "max": {-1, false, false},
	"-": {2, false, false}, "*": {2, false, false}, "/": {2, false, false},
	"neg": {1, false, false}, "abs": {1, false, false},
	"<": {2, false, true}, "<=": {2, false, true}, "==": {2, false, true}, "!=": {2, false, true},
	"true": {0, true, true}, "false": {0, true, true}, "not": {1, true, true},
	"and": {-2, true, true}, "or": {-2, true, true},
}

func (w *world) readAction(value any) *action {
	f := object(value, "parameters", "lines", "before", "change", "then", "after", "cost", "factors")
	a := &action{}
	for _, item := range list(f["parameters"]) {
		p := object(item, "step", "first", "last")
		one := parameter{positive(p["step"]), integer(p["first"]), integer(p["last"])}
		require(one.first.Cmp(one.last) <= 0, "a parameter without a value")
		a.parameters = append(a.parameters, one)
	}
	for _, item := range list(f["lines"]) {
		a.lines = append(a.lines, w.readLine(a, list(item), false))
	}
	a.first = len(a.lines)
	for _, item := range list(f["then"]) {
		a.lines = append(a.lines, w.readLine(a, list(item), true))
	}
	a.before, a.after = a.named(f["before"], a.first, true), a.named(f["after"], len(a.lines), true)
	changed := map[int]bool{}
	for _, item := range list(f["change"]) {
		entry := listOf(item, 2)
		j := w.neverMissing(entry[0])
		require(w.axes[j].levels || w.axes[j].grid == "step", "a feature of floats is changed")
		require(!changed[j], "a feature is changed twice")
		changed[j] = true
		a.changes = append(a.changes, change{j, a.line(entry[1], a.first, false)})
	}
	a.cost = a.line(f["cost"], len(a.lines), false)
	for _, item := range list(f["factors"]) {
		group := a.named(item, a.first, false)
		require(len(group) > 0, "a list of factors is empty")
		a.factors = append(a.factors, group)
	}
	return a
}

// line reads the number of an earlier line of a kind.
func (a *action) line(value any, end int, truth bool) int {
	n := small(value, 0, end-1)
	require(a.lines[n].truth == truth, "a number where a condition stands, or a condition where a number stands")
	return n
}

func (a *action) named(value any, end int, truth bool) []int {
	var out []int
	for _, item := range list(value) {
		out = append(out, a.line(item, end, truth))
	}
	return out
}

func (w *world) neverMissing(value any) int {
	j := small(value, 0, len(w.axes)-1)
	require(w.axes[j].missing == nil, "a feature that may be missing")
	return j
}

func (w *world) readLine(a *action, items []any, then bool) line {
	require(len(items) > 0, "a line begins with its operator")
	l := line{op: text(items[0])}
	rest := items[1:]
	switch l.op {
	case "c", "p", "x", "y":
		require(len(rest) == 1, "%s has one part", l.op)
		switch l.op {
		case "c":
			l.number = rational(rest[0])
		case "p":
			l.which = small(rest[0], 0, len(a.parameters)-1)
		default:
			require(then || l.op == "x", "the state after the action is not known yet")
			l.which = w.neverMissing(rest[0])
		}
		return l
	case "if":
		require(len(rest) == 3, "if has three parts")
		condition := a.line(rest[0], len(a.lines), true)
		one := small(rest[1], 0, len(a.lines)-1)
		l.truth = a.lines[one].truth
		l.parts = []int{condition, one, a.line(rest[2], len(a.lines), l.truth)}
		return l
	}
	kind, known := operators[l.op]
	require(known, "no such operator")
	fits := kind.parts == len(rest) || kind.parts == -2 || kind.parts == -1 && len(rest) > 0
	require(fits, "another number of parts")
	l.parts, l.truth = a.named(rest, len(a.lines), kind.takes), kind.truths
	return l
}

// step is where an action leads from a box, and the least that it costs; sure: nothing that it rests on is unknown.
type step struct {
	box  []*span
	cost *big.Rat
	sure bool
}

// take encloses an action from a box, with spans of its parameters; nil: it cannot be taken, 12.5.
func (c *checker) take(a *action, box, spans []*span) *step {
	for _, s := range spans {
		if s.empty() {
			return nil
		}
	}
	values := make([]enclosure, 0, len(a.lines))
	values = c.run(a, a.lines[:a.first], values, box, nil, spans)
	out := &step{append([]*span(nil), box...), new(big.Rat), true}
	for _, ch := range a.changes {
		v := values[ch.line]
		out.sure = out.sure && v.low != nil
		out.box[ch.feature] = c.axes[ch.feature].settled(v)
	}
	for _, s := range out.box {
		if s.empty() {
			return nil
		}
	}
	values = c.run(a, a.lines[a.first:], values, box, out.box, spans)
	for _, k := range append(append([]int(nil), a.before...), a.after...) {
		if !values[k].canTrue {
			return nil
		}
		out.sure = out.sure && !values[k].canFalse
	}
	low, high, known := shareOf(a, values)
	cost := values[a.cost]
	if !known || cost.low == nil {
		out.sure = false
		return out
	}
	if cost.high.Sign() < 0 || high.Sign() < 0 || low.Cmp(whole(1)) > 0 {
		return nil
	}
	if cost.low.Sign() > 0 && low.Sign() > 0 {
		out.cost = mul(cost.low, low)
	}
	return out
}

// shareOf returns the interval of the mean of the means of factors.
func shareOf(a *action, values []enclosure) (low, high *big.Rat, known bool) {
	if len(a.factors) == 0 {
		return whole(1), whole(1), true
	}
	low, high = new(big.Rat), new(big.Rat)
	for _, group := range a.factors {
		part := new(big.Rat).SetFrac64(1, int64(len(group))*int64(len(a.factors)))
		for _, k := range group {
			if values[k].low == nil {
				return nil, nil, false
			}
			low, high = add(low, mul(part, values[k].low)), add(high, mul(part, values[k].high))
		}
	}
	return low, high, true
}

// settled returns the indices that a feature may take for a number, 12.3.
func (a *axis) settled(v enclosure) *span {
	if v.low == nil {
		return a.all()
	}
	if !a.levels {
		return (&span{lo: a.nearest(v.low), hi: a.nearest(v.high)}).meet(a.all())
	}
	mask := new(big.Int)
	for k := 0; k < a.count; k++ {
		n := whole(int64(k))
		fits := a.allowed.Bit(k) == 1 && v.low.Cmp(n) <= 0 && n.Cmp(v.high) <= 0
		if fits && (v.set == nil || contains(v.set, n)) {
			mask.SetBit(mask, k, 1)
		}
	}
	return &span{mask: mask}
}

// nearest returns the index of a grid whose value is nearest, of two the even one.
func (a *axis) nearest(v *big.Rat) *big.Int {
	var found *big.Int
	var least *big.Rat
	i := floor(quo(v, a.step))
	i.Sub(i, one)
	for n := 0; n < 5; n++ {
		far := abs(sub(a.value(i), v))
		order := -1
		if found != nil {
			order = far.Cmp(least)
		}
		if order < 0 || order == 0 && i.Bit(0) < found.Bit(0) {
			found, least = new(big.Int).Set(i), far
		}
		i.Add(i, one)
	}
	return found
}

func contains(set []*big.Rat, n *big.Rat) bool {
	for _, x := range set {
		if x.Cmp(n) == 0 {
			return true
		}
	}
	return false
}

// run adds the enclosures of some lines to those of the lines before them.
func (c *checker) run(a *action, lines []line, values []enclosure, before, after, spans []*span) []enclosure {
	if c.lines += len(lines); c.lines > maxRun {
		giveUp("too large: more than %d lines to run", maxRun)
	}
	for _, l := range lines {
		var v enclosure
		switch l.op {
		case "c":
			v = enclosure{low: l.number, high: l.number, set: []*big.Rat{l.number}}
		case "p":
			p, s := a.parameters[l.which], spans[l.which]
			v.low, v.high = mul(new(big.Rat).SetInt(s.lo), p.step), mul(new(big.Rat).SetInt(s.hi), p.step)
		case "x":
			v = c.axes[l.which].enclosure(before[l.which])
		case "y":
			v = c.axes[l.which].enclosure(after[l.which])
		case "if":
			condition, one, other := values[l.parts[0]], values[l.parts[1]], values[l.parts[2]]
			switch {
			case !condition.canFalse:
				v = one
			case !condition.canTrue:
				v = other
			default:
				v = joined(l.truth, one, other)
			}
		default:
			v = operate(l, values)
		}
		for _, end := range []*big.Rat{v.low, v.high} {
			short := end == nil || end.Num().BitLen() <= maxBits && end.Denom().BitLen() <= maxBits
			require(short, "a number grows too long")
		}
		values = append(values, v)
	}
	return values
}

func (a *axis) enclosure(s *span) enclosure {
	x := a.interval(s)
	v := enclosure{low: x.low, high: x.high}
	for i := 0; x.levels != nil && i < x.levels.BitLen(); i++ {
		if x.levels.Bit(i) == 1 {
			v.set = append(v.set, whole(int64(i)))
		}
	}
	return v
}

// joined holds what is in one of two enclosures.
func joined(truth bool, one, other enclosure) enclosure {
	if truth {
		return enclosure{canFalse: one.canFalse || other.canFalse, canTrue: one.canTrue || other.canTrue}
	}
	if one.low == nil || other.low == nil {
		return enclosure{}
	}
	v := enclosure{low: least(one.low, other.low), high: largest(one.high, other.high)}
	if one.set != nil && other.set != nil {
		v.set = append(append([]*big.Rat(nil), one.set...), other.set...)
	}
	return v
}

func operate(l line, values []enclosure) enclosure {
	var parts []enclosure
	for _, k := range l.parts {
		parts = append(parts, values[k])
	}
	if operators[l.op].takes {
		return connected(l.op, parts)
	}
	for _, part := range parts {
		if part.low == nil {
			return enclosure{canFalse: l.truth, canTrue: l.truth}
		}
	}
	if l.truth {
		return compared(l.op, parts[0], parts[1])
	}
	return computed(l.op, parts)
}

func connected(op string, parts []enclosure) enclosure {
	v := enclosure{canFalse: op == "false" || op == "or", canTrue: op == "true" || op == "and"}
	for _, part := range parts {
		switch op {
		case "not":
			v.canFalse, v.canTrue = part.canTrue, part.canFalse
		case "and":
			v.canFalse, v.canTrue = v.canFalse || part.canFalse, v.canTrue && part.canTrue
		case "or":
			v.canFalse, v.canTrue = v.canFalse && part.canFalse, v.canTrue || part.canTrue
		}
	}
	return v
}

func compared(op string, a, b enclosure) enclosure {
	switch op {
	case "<":
		return enclosure{canFalse: a.high.Cmp(b.low) >= 0, canTrue: a.low.Cmp(b.high) < 0}
	case "<=":
		return enclosure{canFalse: a.high.Cmp(b.low) > 0, canTrue: a.low.Cmp(b.high) <= 0}
	}
	v := enclosure{canFalse: true, canTrue: a.low.Cmp(b.high) <= 0 && b.low.Cmp(a.high) <= 0 && a.meets(b) && b.meets(a)}
	if a.low.Cmp(a.high) == 0 && b.low.Cmp(b.high) == 0 && v.canTrue {
		v.canFalse = false
	}
	if op == "!=" {
		v.canFalse, v.canTrue = v.canTrue, v.canFalse
	}
	return v
}

// meets says whether some value of a set, where it is known, is in another set, or in its interval if that is not known.
func (v enclosure) meets(other enclosure) bool {
	if v.set == nil {
		return true
	}
	for _, x := range v.set {
		inside := other.low.Cmp(x) <= 0 && x.Cmp(other.high) <= 0
		if inside && (other.set == nil || contains(other.set, x)) {
			return true
		}
	}
	return false
}

func computed(op string, parts []enclosure) enclosure {
	v := enclosure{low: parts[0].low, high: parts[0].high}
	switch op {
	case "neg":
		v.low, v.high = new(big.Rat).Neg(v.high), new(big.Rat).Neg(v.low)
		return v
	case "abs":
		size := largest(abs(v.low), abs(v.high))
		if v.low.Sign() <= 0 && v.high.Sign() >= 0 {
			return enclosure{low: new(big.Rat), high: size}
		}
		return enclosure{low: least(abs(v.low), abs(v.high)), high: size}
	}
	for _, part := range parts[1:] {
		switch op {
		case "+":
			v.low, v.high = add(v.low, part.low), add(v.high, part.high)
		case "-":
			v.low, v.high = sub(v.low, part.high), sub(v.high, part.low)
		case "min":
			v.low, v.high = least(v.low, part.low), least(v.high, part.high)
		case "max":
			v.low, v.high = largest(v.low, part.low), largest(v.high, part.high)
		case "/":
			if part.low.Sign() <= 0 && part.high.Sign() >= 0 {
				return enclosure{}
			}
			part = enclosure{low: quo(whole(1), part.high), high: quo(whole(1), part.low)}
			fallthrough
		case "*":
			products := []*big.Rat{
				mul(v.low, part.low), mul(v.low, part.high), mul(v.high, part.low), mul(v.high, part.high),
			}
			v.low, v.high = products[0], products[0]
			for _, x := range products[1:] {
				v.low, v.high = least(v.low, x), largest(v.high, x)
			}
		}
	}
	return v
}
