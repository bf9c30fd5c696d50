package main

import (
	"math/big"
)

// FORMAT 3.2 and 7.2: networks and the margin of their rounding.

const maxLayers = 256

// layer of a network. The weights are integers over 2^exponent, and so is the bias.
type layer struct {
	weights  [][]*big.Int // [input][output]
	bias     []*big.Int
	exponent int
	relu     bool
}

type network struct {
	rule    string
	single  bool
	layers  []*layer
	columns []*column
	margins map[*comparison]*big.Rat
	exact   *exactColumns
}

func readNetwork(value any, w *world) *network {
	f := object(value, "kind", "rule", "dtype", "layers")
	m := &network{rule: oneOf(f["rule"], rules...), columns: w.columns}
	m.single = oneOf(f["dtype"], "float64", "float32") == "float32"
	layers := list(f["layers"])
	require(len(layers) > 0, "a network without layers")
	if len(layers) > maxLayers {
		giveUp("too large: more than %d layers", maxLayers)
	}
	inputs := len(w.columns)
	for _, value := range layers {
		l := readLayer(value, inputs)
		m.layers = append(m.layers, l)
		inputs = len(l.bias)
	}
	require(!m.layers[len(m.layers)-1].relu, "the last layer is identity")
	for _, c := range w.columns {
		require(!c.single, "a network's column has the chain float32")
		require(c.axis.levels || c.axis.missing == nil, "a network's column reads a grid with missing")
	}
	return m
}

func readLayer(value any, inputs int) *layer {
	f := object(value, "weights", "bias", "activation")
	l := &layer{relu: oneOf(f["activation"], "relu", "identity") == "relu"}
	bias := floats(f["bias"])
	require(len(bias) > 0, "a layer without outputs")
	rows := make([][]float64, inputs)
	for i, row := range listOf(f["weights"], inputs) {
		rows[i] = floats(row)
		require(len(rows[i]) == len(bias), "a row of weights has one float for each output")
	}
	for _, row := range append(rows, bias) {
		for _, x := range row {
			_, e := split(x)
			l.exponent = max(l.exponent, -e)
		}
	}
	for _, row := range rows {
		l.weights = append(l.weights, l.integers(row))
	}
	l.bias = l.integers(bias)
	return l
}

func (l *layer) integers(row []float64) []*big.Int {
	out := make([]*big.Int, len(row))
	for i, x := range row {
		out[i] = shifted(x, l.exponent)
	}
	return out
}

// hidden says whether a layer has hidden units.
func (m *network) hidden(k int) bool { return k < len(m.layers)-1 && m.layers[k].relu }

// guard is the exponent of the fractions to which bounds of errors are rounded up. FORMAT allows 2^-1000 in the end.
const guard = 3000

// margin computes E of every comparison from bounds of the size and of the error of every column.
func (m *network) margin(w *world, sizes, errors []*big.Rat) map[*comparison]*big.Rat {
	r := arithmeticOf(m.single)
	A, e := units(sizes), units(errors)
	for _, l := range m.layers {
		A, e = m.through(l, r, A, e)
	}
	out := map[*comparison]*big.Rat{}
	for _, part := range w.goal {
		for _, c := range part {
			E := mul(squash(m.rule), r.u)
			for _, side := range c.sides() {
				E = add(E, new(big.Rat).SetFrac(e[side], power(guard).Num()))
			}
			out[c] = E
		}
	}
	return out
}

// units rounds up to multiples of 2^-guard.
func units(values []*big.Rat) []*big.Int {
	out := make([]*big.Int, len(values))
	for i, q := range values {
		out[i] = ceil(mul(q, power(guard)))
	}
	return out
}

// through carries sizes and errors, in multiples of 2^-guard, through one layer.
func (m *network) through(l *layer, r arithmetic, A, e []*big.Int) (sizes, errors []*big.Int) {
	n := len(A)
	g := r.g(n + 1)
	tiny := mul(whole(int64(2*n+2)), r.s)
	limit := power(r.beyond - 2)
	for o, bias := range l.bias {
		size, carried := rescale(new(big.Int).Abs(bias), 0, guard), new(big.Int)
		rounded := new(big.Int).Set(size)
		for i := range A {
			weight := new(big.Int).Abs(l.weights[i][o])
			product := new(big.Int).Mul(weight, A[i])
			size.Add(size, product)
			rounded.Add(rounded, product)
			product = new(big.Int).Mul(weight, e[i])
			carried.Add(carried, product)
			rounded.Add(rounded, product)
		}
		scale := power(-l.exponent)
		own := mul(add(mul(g, new(big.Rat).SetInt(rounded)), new(big.Rat).SetInt(carried)), scale)
		own = add(own, mul(tiny, power(guard)))
		sizes = append(sizes, ceil(mul(new(big.Rat).SetInt(size), scale)))
		errors = append(errors, ceil(own))
		total := new(big.Rat).SetInt(new(big.Int).Add(sizes[o], errors[o]))
		require(total.Cmp(mul(limit, power(guard))) < 0, "scores that could overflow")
	}
	return sizes, errors
}

// prepare computes the margins over all allowed points, and the exact columns.
func (m *network) prepare(w *world) {
	var sizes, errors []*big.Rat
	for _, c := range m.columns {
		A, e := m.columnError(c)
		sizes, errors = append(sizes, A), append(errors, e)
	}
	m.margins = m.margin(w, sizes, errors)
	m.exact = w.exactColumns()
}

// columnError bounds the exact value of a column and what the given float is off.
func (m *network) columnError(c *column) (A, e *big.Rat) {
	A, e = new(big.Rat), new(big.Rat)
	given := true // every given value is a float32
	if c.axis.levels {
		for i, x := range c.table {
			if c.axis.allowed.Bit(i) == 1 {
				A = largest(A, abs(rat(x)))
				given = given && float64(float32(x)) == x
			}
		}
	} else {
		A, e, given = c.gridError()
	}
	if m.single && !given {
		e = add(e, add(mul(power(-24), add(A, e)), power(-149)))
	}
	return A, e
}

func (c *column) gridError() (A, e *big.Rat, given bool) {
	a := c.axis
	X := largest(abs(a.value(a.lower)), abs(a.value(a.upper)))
	integers := a.grid == "step" && a.step.IsInt() && (a.extra == nil || a.extra.IsInt())
	e = new(big.Rat)
	if a.grid == "step" && !(integers && X.Cmp(power(53)) <= 0) {
		e = add(mul(power(-53), X), power(-1074))
	}
	size := func(F, G *big.Rat) *big.Rat { return add(mul(abs(F), X), abs(G)) }
	F, G := c.affine(func(o operation, F, G *big.Rat) {
		switch o.kind {
		case "mul":
			e = mul(e, abs(rat(o.by)))
		case "div":
			e = quo(e, abs(rat(o.by)))
		}
		e = add(e, add(mul(power(-53), add(size(F, G), e)), power(-1074)))
		e = roundUp(e, guard)
	})
	plain := len(c.chain) == 0
	given = plain && (a.grid == "float32" || integers && X.Cmp(power(24)) <= 0)
	return size(F, G), e, given
}

// scores returns the exact scores of a row of floats.
func (m *network) scores(row []float64) []*big.Rat {
	exponent := 0
	for _, x := range row {
		_, e := split(x)
		exponent = max(exponent, -e)
	}
	values := make([]*big.Int, len(row))
	for i, x := range row {
		values[i] = shifted(x, exponent)
	}
	for _, l := range m.layers {
		next := make([]*big.Int, len(l.bias))
		for o, bias := range l.bias {
			sum := rescale(bias, 0, exponent)
			for i, x := range values {
				sum.Add(sum, new(big.Int).Mul(x, l.weights[i][o]))
			}
			if l.relu && sum.Sign() < 0 {
				sum.SetInt64(0)
			}
			next[o] = sum
		}
		values, exponent = next, exponent+l.exponent
	}
	out := make([]*big.Rat, len(values))
	for k, n := range values {
		out[k] = mul(new(big.Rat).SetInt(n), power(-exponent))
	}
	return out
}
