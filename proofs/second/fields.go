package main

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// FORMAT 1.2 and 1.3: what a field may be. Every function refuses what is not of its shape.

// object returns the fields of a JSON object that has exactly these; a name that ends in "?" may be absent.
func object(value any, names ...string) map[string]any {
	fields, ok := value.(map[string]any)
	require(ok, "expected an object with the fields %s", strings.Join(names, ", "))
	found := 0
	for _, name := range names {
		_, there := fields[strings.TrimSuffix(name, "?")]
		require(there || strings.HasSuffix(name, "?"), "the field %s is absent", name)
		if there {
			found++
		}
	}
	require(found == len(fields), "expected the fields %s and no others", strings.Join(names, ", "))
	return fields
}

func list(value any) []any {
	items, ok := value.([]any)
	require(ok, "expected a list")
	return items
}

// listOf returns a list of exactly this many items.
func listOf(value any, count int) []any {
	items := list(value)
	require(len(items) == count, "expected a list of %d, got %d", count, len(items))
	return items
}

func text(value any) string {
	s, ok := value.(string)
	require(ok, "expected a text")
	return s
}

func boolean(value any) bool {
	b, ok := value.(bool)
	require(ok, "expected true or false")
	return b
}

// oneOf returns a text that is one of these.
func oneOf(value any, words ...string) string {
	s := text(value)
	for _, word := range words {
		if s == word {
			return s
		}
	}
	refuse("expected one of %s", strings.Join(words, ", "))
	return ""
}

func integer(value any) *big.Int {
	switch n := value.(type) {
	case int64:
		return big.NewInt(n)
	case *big.Int:
		return n
	}
	refuse("expected an integer")
	return nil
}

// small returns an integer from low to high.
func small(value any, low, high int) int {
	n, ok := value.(int64)
	if _, large := value.(*big.Int); !ok && !large {
		refuse("expected an integer")
	}
	require(ok && n >= int64(low) && n <= int64(high), "expected an integer from %d to %d", low, high)
	return int(n)
}

var rationalText = regexp.MustCompile(`^(-?[0-9]{1,})(?:/([0-9]{1,}))?$`)

// rational reads a quotient of decimal integers.
func rational(value any) *big.Rat {
	parts := rationalText.FindStringSubmatch(text(value))
	require(parts != nil, "expected a rational")
	if len(strings.TrimPrefix(parts[1], "-")) > maxDigits || len(parts[2]) > maxDigits {
		giveUp("too large: a rational of more than %d digits", maxDigits)
	}
	above, _ := new(big.Int).SetString(parts[1], 10)
	below := big.NewInt(1)
	if parts[2] != "" {
		below, _ = new(big.Int).SetString(parts[2], 10)
	}
	require(below.Sign() != 0, "a rational that divides by zero")
	return new(big.Rat).SetFrac(above, below)
}

func notNegative(value any) *big.Rat {
	q := rational(value)
	require(q.Sign() >= 0, "expected a rational that is not negative")
	return q
}

func positive(value any) *big.Rat {
	q := rational(value)
	require(q.Sign() > 0, "expected a positive rational")
	return q
}

var floatText = regexp.MustCompile(`^-?0x([01])(?:\.([0-9a-f]{1,13}))?p([+-][0-9]{1,4})$`)

// float reads a double's hexadecimal text. -0 becomes 0.
func float(value any) float64 {
	s := text(value)
	parts := floatText.FindStringSubmatch(s)
	require(parts != nil, "expected the hexadecimal text of a float")
	exponent, _ := strconv.Atoi(parts[3])
	require(exponent >= -1022 && exponent <= 1023, "a float whose exponent is not one of a double")
	if parts[1] == "0" {
		zero := strings.Trim(parts[2], "0") == ""
		require(zero || exponent == -1022, "a float with the digit 0 before the point is 0 or subnormal")
		if zero {
			return 0
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	require(err == nil, "expected the hexadecimal text of a float")
	return x
}

func floats(value any) []float64 {
	items := list(value)
	out := make([]float64, len(items))
	for i, item := range items {
		out[i] = float(item)
	}
	return out
}
