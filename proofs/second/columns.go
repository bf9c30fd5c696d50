package main

import (
	"math"
	"math/big"
)

// FORMAT 2.4: the columns, what the model is given for an index.

const (
	maxColumns    = 100_000
	maxOperations = 100
)

type operation struct {
	kind string
	by   float64
}

type column struct {
	axis    *axis
	feature int
	table   []float64
	chain   []operation
	single  bool // one rounding to float32
	absent  float64
	falling bool
}

func (w *world) readColumn(value any) *column {
	items := list(value)
	require(len(items) == 3 || len(items) == 4, "a column is a list of three, or four")
	c := &column{feature: small(items[0], 0, len(w.axes)-1)}
	c.axis = w.axes[c.feature]
	require((len(items) == 4) == (!c.axis.levels && c.axis.missing != nil), "a column has a fourth field where its feature is a grid with missing")
	if c.axis.levels {
		c.table = floats(items[1])
		require(len(c.table) == c.axis.count, "a table has one float for each level")
		listOf(items[2], 0)
		return c
	}
	require(items[1] == nil, "a column of a grid has no table")
	if word, ok := items[2].(string); ok {
		require(word == "float32" && c.axis.grid == "step", "a chain is a list, or float32 on a grid of steps")
		c.single = true
	} else {
		c.readChain(list(items[2]))
	}
	low, high := c.given(c.axis.lower), c.given(c.axis.upper)
	_ = low
	if len(items) == 4 {
		c.absent = float(items[3])
		if c.axis.missingAllowed {
			require(c.falling || c.absent >= high, "missing is below the highest value")
			require(!c.falling || c.absent <= high, "missing is above the lowest value")
		}
	}
	return c
}

func (c *column) readChain(items []any) {
	if len(items) > maxOperations {
		giveUp("too large: a chain of more than %d operations", maxOperations)
	}
	for _, item := range items {
		pair := listOf(item, 2)
		o := operation{oneOf(pair[0], "add", "sub", "mul", "div"), float(pair[1])}
		require(o.kind != "div" || o.by != 0, "a divisor is 0")
		if (o.kind == "mul" || o.kind == "div") && o.by < 0 {
			c.falling = !c.falling
		}
		c.chain = append(c.chain, o)
	}
}

// given returns what the model is given for an index, and refuses where that overflows. Each operation is one operation
// of float64, whose result is converted explicitly, so that none is fused with the next.
func (c *column) given(i *big.Int) float64 {
	if c.axis.levels {
		return c.table[i.Int64()]
	}
	if c.axis.isMissing(i) {
		return c.absent
	}
	value := c.axis.value(i)
	if c.single {
		x, _ := value.Float32()
		return finite(float64(x))
	}
	x, _ := value.Float64()
	finite(x)
	for _, o := range c.chain {
		switch o.kind {
		case "add":
			x = float64(x + o.by)
		case "sub":
			x = float64(x - o.by)
		case "mul":
			x = float64(x * o.by)
		case "div":
			x = float64(x / o.by)
		}
		finite(x)
	}
	return x
}

func finite(x float64) float64 {
	require(!math.IsInf(x, 0) && !math.IsNaN(x), "a column overflows")
	return x
}

// affine returns the exact F and G of the chain: without rounding the column is F x + G. Each calls back after every
// operation.
func (c *column) affine(after func(o operation, F, G *big.Rat)) (F, G *big.Rat) {
	F, G = whole(1), new(big.Rat)
	for _, o := range c.chain {
		by := rat(o.by)
		switch o.kind {
		case "add":
			G = add(G, by)
		case "sub":
			G = sub(G, by)
		case "mul":
			F, G = mul(F, by), mul(G, by)
		case "div":
			F, G = quo(F, by), quo(G, by)
		}
		if after != nil {
			after(o, F, G)
		}
	}
	return F, G
}
