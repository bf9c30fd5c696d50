package main

import "math/big"

// FORMAT 2.6 and 6.10: conditions over values, and what they can be on a box.

const maxRuleDigits = 100_000

type expression struct {
	op      string
	feature int
	number  *big.Rat
	parts   []*expression
	truth   bool // a condition, not a number
}

// comparisons of an expression, in the order in which they are written.
func (e *expression) comparisons() []*expression {
	switch e.op {
	case "<", "<=", "==", "!=":
		return []*expression{e}
	}
	var out []*expression
	if e.truth {
		for _, part := range e.parts {
			out = append(out, part.comparisons()...)
		}
	}
	return out
}

type ruleReader struct {
	w      *world
	digits int
	read   map[int]bool
}

func (w *world) readRule(value any) *expression {
	r := &ruleReader{w: w, read: map[int]bool{}}
	e := r.expression(value)
	require(e.truth, "a rule is a condition")
	return e
}

func (r *ruleReader) count(q *big.Rat) {
	r.digits += (q.Num().BitLen() + q.Denom().BitLen()) * 30103 / 100000
	if r.digits > maxRuleDigits {
		giveUp("too large: the numbers of one rule have more than %d digits", maxRuleDigits)
	}
}

func (r *ruleReader) expression(value any) *expression {
	items := list(value)
	require(len(items) > 0, "an expression is a list that begins with its kind")
	e := &expression{op: text(items[0])}
	rest := items[1:]
	switch e.op {
	case "x":
		require(len(rest) == 1, "x has one field")
		e.feature = small(rest[0], 0, len(r.w.axes)-1)
		r.feature(e.feature)
	case "c":
		require(len(rest) == 1, "c has one field")
		e.number = rational(rest[0])
		r.count(e.number)
	case "*":
		require(len(rest) == 2, "* has two fields")
		e.number = rational(rest[0])
		r.count(e.number)
		e.parts = r.all(rest[1:], false)
	case "+", "min", "max":
		require(len(rest) > 0, "%s has at least one part", e.op)
		e.parts = r.all(rest, false)
	case "-":
		require(len(rest) == 2, "- has two parts")
		e.parts = r.all(rest, false)
	case "neg", "abs":
		require(len(rest) == 1, "%s has one part", e.op)
		e.parts = r.all(rest, false)
	case "<", "<=", "==", "!=":
		require(len(rest) == 2, "%s has two parts", e.op)
		e.parts, e.truth = r.all(rest, false), true
	case "true", "false":
		require(len(rest) == 0, "%s has no field", e.op)
		e.truth = true
	case "and", "or":
		e.parts, e.truth = r.all(rest, true), true
	case "not":
		require(len(rest) == 1, "not has one part")
		e.parts, e.truth = r.all(rest, true), true
	default:
		refuse("no such expression")
	}
	return e
}

func (r *ruleReader) feature(j int) {
	a := r.w.axes[j]
	require(a.levels || !a.missingAllowed, "a rule reads a grid on which missing is allowed")
	if !a.levels && !r.read[j] {
		r.read[j] = true
		if a.grid == "step" {
			r.count(a.step)
			if a.extra != nil {
				r.count(a.extra)
			}
		}
	}
}

func (r *ruleReader) all(values []any, truth bool) []*expression {
	var out []*expression
	for _, value := range values {
		e := r.expression(value)
		require(e.truth == truth, "a number where a condition stands, or a condition where a number stands")
		out = append(out, e)
	}
	return out
}

// interval of values; the set of all of them, where it is known, as levels or as the one value low.
type interval struct {
	low, high *big.Rat
	levels    *big.Int
	constant  bool
}

// number evaluates an expression over a box without empty spans.
func (e *expression) numberOn(w *world, box []*span) interval {
	switch e.op {
	case "x":
		return w.axes[e.feature].interval(box[e.feature])
	case "c":
		return interval{low: e.number, high: e.number, constant: true}
	}
	first := e.parts[0].numberOn(w, box)
	low, high := first.low, first.high
	switch e.op {
	case "*":
		low, high = mul(e.number, low), mul(e.number, high)
		if e.number.Sign() < 0 {
			low, high = high, low
		}
	case "neg":
		low, high = new(big.Rat).Neg(high), new(big.Rat).Neg(low)
	case "abs":
		if low.Sign() < 0 {
			low, high = new(big.Rat).Neg(low), abs(high)
			if first.high.Sign() < 0 {
				low, high = high, low
			} else {
				low, high = new(big.Rat), largest(low, high)
			}
		}
	case "-":
		other := e.parts[1].numberOn(w, box)
		low, high = sub(low, other.high), sub(high, other.low)
	default:
		for _, part := range e.parts[1:] {
			other := part.numberOn(w, box)
			switch e.op {
			case "+":
				low, high = add(low, other.low), add(high, other.high)
			case "min":
				low, high = least(low, other.low), least(high, other.high)
			case "max":
				low, high = largest(low, other.low), largest(high, other.high)
			}
		}
	}
	return interval{low: low, high: high}
}

func least(a, b *big.Rat) *big.Rat {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

func largest(a, b *big.Rat) *big.Rat {
	if b.Cmp(a) > 0 {
		return b
	}
	return a
}

// interval of the values of a span.
func (a *axis) interval(s *span) interval {
	if a.levels {
		low, high := int64(s.mask.TrailingZeroBits()), int64(s.mask.BitLen()-1)
		return interval{low: whole(low), high: whole(high), levels: s.mask}
	}
	return interval{low: a.value(s.lo), high: a.value(s.hi)}
}

// misses says whether a set is known and none of it lies from low to high.
func (x interval) misses(low, high *big.Rat) bool {
	if x.constant {
		return x.low.Cmp(low) < 0 || x.low.Cmp(high) > 0
	}
	if x.levels == nil {
		return false
	}
	for i := 0; i < x.levels.BitLen(); i++ {
		if n := whole(int64(i)); x.levels.Bit(i) == 1 && n.Cmp(low) >= 0 && n.Cmp(high) <= 0 {
			return false
		}
	}
	return true
}

// apart says whether two numbers are different at every point: their intervals are, or what is known of their sets.
func apart(a, b interval) bool {
	if a.high.Cmp(b.low) < 0 || b.high.Cmp(a.low) < 0 || a.misses(b.low, b.high) || b.misses(a.low, a.high) {
		return true
	}
	return a.levels != nil && b.levels != nil && new(big.Int).And(a.levels, b.levels).Sign() == 0
}

// assumption says of one comparison whether it is true, whatever the box says.
type assumption struct {
	of *expression
	is bool
}

// truth says whether a condition can be false and whether it can be true on a box without empty spans, and with what is
// taken for granted, if it is not nil.
func (e *expression) truthOn(w *world, box []*span, granted *assumption) (canFalse, canTrue bool) {
	if granted != nil && granted.of == e {
		return !granted.is, granted.is
	}
	switch e.op {
	case "true":
		return false, true
	case "false":
		return true, false
	case "not":
		canFalse, canTrue = e.parts[0].truthOn(w, box, granted)
		return canTrue, canFalse
	case "and", "or":
		canFalse, canTrue = e.op == "or", e.op == "and"
		for _, part := range e.parts {
			f, t := part.truthOn(w, box, granted)
			if e.op == "and" {
				canFalse, canTrue = canFalse || f, canTrue && t
			} else {
				canFalse, canTrue = canFalse && f, canTrue || t
			}
		}
		return canFalse, canTrue
	}
	a, b := e.parts[0].numberOn(w, box), e.parts[1].numberOn(w, box)
	switch e.op {
	case "<":
		return a.high.Cmp(b.low) >= 0, a.low.Cmp(b.high) < 0
	case "<=":
		return a.high.Cmp(b.low) > 0, a.low.Cmp(b.high) <= 0
	}
	switch {
	case apart(a, b):
		canFalse = true
	case a.low.Cmp(a.high) == 0 && b.low.Cmp(b.high) == 0:
		canTrue = true
	default:
		canFalse, canTrue = true, true
	}
	if e.op == "!=" {
		return canTrue, canFalse
	}
	return canFalse, canTrue
}
