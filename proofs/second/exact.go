package main

import (
	"math"
	"math/big"
)

// Exact numbers: rationals, and integers times a power of two.

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func add(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
func sub(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
func mul(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func quo(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
func abs(a *big.Rat) *big.Rat    { return new(big.Rat).Abs(a) }
func whole(n int64) *big.Rat     { return new(big.Rat).SetInt64(n) }

// power returns 2^e.
func power(e int) *big.Rat {
	n := new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e)))
	if e < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// floor returns the greatest integer that is not above q; ceil the least that is not below.
func floor(q *big.Rat) *big.Int { return new(big.Int).Div(q.Num(), q.Denom()) } // the divisor is positive: Euclid's is the floor

func ceil(q *big.Rat) *big.Int {
	n := floor(new(big.Rat).Neg(q))
	return n.Neg(n)
}

// times returns q * n, which has to be an integer.
func times(q *big.Rat, n *big.Int) *big.Int {
	product := new(big.Rat).Mul(q, new(big.Rat).SetInt(n))
	if !product.IsInt() {
		panic("a common denominator that is none")
	}
	return new(big.Int).Set(product.Num())
}

// lcm makes d a multiple of the denominator of q.
func lcm(d *big.Int, q *big.Rat) *big.Int {
	g := new(big.Int).GCD(nil, nil, d, q.Denom())
	return new(big.Int).Mul(d, new(big.Int).Quo(q.Denom(), g))
}

// split returns integers m, e with x = m * 2^e, m odd or zero.
func split(x float64) (*big.Int, int) {
	if x == 0 {
		return new(big.Int), 0
	}
	fraction, e := math.Frexp(x)
	m := big.NewInt(int64(math.Ldexp(fraction, 53)))
	e -= 53
	zeros := m.TrailingZeroBits()
	return m.Rsh(m, zeros), e + int(zeros)
}

// shifted returns x * 2^e, which has to be an integer.
func shifted(x float64, e int) *big.Int {
	m, own := split(x)
	if m.Sign() == 0 {
		return m
	}
	return m.Lsh(m, uint(own+e))
}

// rescale returns n * 2^(to - from), rounded down.
func rescale(n *big.Int, from, to int) *big.Int {
	if to >= from {
		return new(big.Int).Lsh(n, uint(to-from))
	}
	return new(big.Int).Rsh(n, uint(from-to)) // Rsh of a negative number rounds down
}

// roundDown returns the greatest multiple of 2^-e that is not above q, as a multiple.
func roundDown(q *big.Rat, e int) *big.Int { return floor(mul(q, power(e))) }

// roundUp returns the least multiple of 2^-e that is not below q.
func roundUp(q *big.Rat, e int) *big.Rat {
	return new(big.Rat).SetFrac(ceil(mul(q, power(e))), power(e).Num())
}
