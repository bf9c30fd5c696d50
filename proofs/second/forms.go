package main

import "math/big"

// FORMAT 2.3 and 6.13: forms, and what multipliers make of them.

const (
	multiplierBits = 40
	maxFormBits    = 1 << 32 // of all numbers of all forms together
)

// forms of a distance: of every axis, for each level (of a grid once, for each of its units), an integer a form.
type forms struct {
	count  int
	below  *big.Int // the integers are over this
	effect [][][]*big.Int
	start  []*big.Int // what each form is at the start
}

// readForms reads the forms of a distance, none where they are absent.
func (w *world) readForms(value any, there bool) {
	w.forms = &forms{below: big.NewInt(1)}
	if !there {
		return
	}
	all := list(value)
	w.forms.count = len(all)
	exact := make([][][]*big.Rat, len(w.axes)) // by axis, item and form
	for j, a := range w.axes {
		require(len(all) == 0 || a.levels || a.missing == nil, "a form of a number that may be missing")
		exact[j] = make([][]*big.Rat, a.items())
	}
	numbers := 0
	starts := make([]*big.Rat, len(all))
	for k, one := range all {
		entries := list(one)
		starts[k] = new(big.Rat)
		if len(entries) == len(w.axes)+1 {
			starts[k] = rational(entries[len(w.axes)])
			entries = entries[:len(w.axes)]
			w.forms.below = lcm(w.forms.below, starts[k])
		}
		require(len(entries) == len(w.axes), "a form has an entry for each feature, and perhaps one more")
		for j, entry := range entries {
			for item, q := range w.axes[j].effects(entry) {
				exact[j][item] = append(exact[j][item], q)
				w.forms.below = lcm(w.forms.below, q)
				numbers++
				if w.forms.below.BitLen() > maxDenominatorBits || numbers*w.forms.below.BitLen() > maxFormBits {
					giveUp("too large: the numbers of forms")
				}
			}
		}
	}
	for _, items := range exact {
		var effects [][]*big.Int
		for _, rats := range items {
			row := make([]*big.Int, len(rats))
			for i, q := range rats {
				row[i] = times(q, w.forms.below)
			}
			effects = append(effects, row)
		}
		w.forms.effect = append(w.forms.effect, effects)
	}
	for _, q := range starts {
		w.forms.start = append(w.forms.start, times(q, w.forms.below))
	}
}

// items is how many entries an axis has: its levels, or one for a grid.
func (a *axis) items() int {
	if a.levels {
		return a.count
	}
	return 1
}

// effects of an axis on one form: of each level, its number less the start's; of a grid, of one of its units.
func (a *axis) effects(entry any) []*big.Rat {
	if !a.levels {
		return []*big.Rat{quo(rational(entry), new(big.Rat).SetInt(a.below))}
	}
	out := make([]*big.Rat, a.count)
	for i, number := range listOf(entry, a.count) {
		out[i] = rational(number)
	}
	start := out[a.start.Int64()]
	for i, q := range out {
		out[i] = sub(q, start)
	}
	return out
}

// place says which entry of an axis counts for an index, and how often.
func (a *axis) place(i *big.Int) (int, *big.Int) {
	if a.levels {
		return int(i.Int64()), one
	}
	return 0, new(big.Int).Sub(a.units(i), a.units(a.start))
}

// size returns the sum of the sizes of the forms at a point.
func (w *world) size(point []*big.Int) *big.Rat {
	total := new(big.Int)
	for k := 0; k < w.forms.count; k++ {
		sum := new(big.Int).Set(w.forms.start[k])
		for j, i := range point {
			item, often := w.axes[j].place(i)
			sum.Add(sum, new(big.Int).Mul(w.forms.effect[j][item][k], often))
		}
		total.Add(total, sum.Abs(sum))
	}
	return new(big.Rat).SetFrac(total, w.forms.below)
}

// pull is what multipliers make of the forms, of every axis and entry, over `below`; nil where there are none.
type pull struct {
	weights  [][]*big.Int
	below    *big.Int
	constant *big.Int // counts once: with the first axis
}

func (w *world) readPull(value any, there bool) *pull {
	if !there {
		return nil
	}
	require(!w.anywhere, "multipliers of forms, and the claim is not about distance")
	bound := new(big.Int).Lsh(one, multiplierBits)
	multipliers := make([]*big.Int, w.forms.count)
	for k, item := range listOf(value, w.forms.count) {
		multipliers[k] = integer(item)
		require(multipliers[k].CmpAbs(bound) <= 0, "a multiplier of a form that is not from -1 to 1")
	}
	out := &pull{below: new(big.Int).Lsh(w.forms.below, multiplierBits), constant: new(big.Int)}
	for k, m := range multipliers {
		out.constant.Add(out.constant, new(big.Int).Mul(m, w.forms.start[k]))
	}
	for j, a := range w.axes {
		weights := make([]*big.Int, a.items())
		for item := range weights {
			weights[item] = new(big.Int)
			for k, m := range multipliers {
				weights[item].Add(weights[item], new(big.Int).Mul(m, w.forms.effect[j][item][k]))
			}
		}
		out.weights = append(out.weights, weights)
	}
	return out
}

// at returns what one index of an axis adds, over `below`.
func (p *pull) at(a *axis, j int, i *big.Int) *big.Int {
	value := new(big.Int)
	if a.levels || p.weights[j][0].Sign() != 0 { // else the axis may be one on which a value is missing
		item, often := a.place(i)
		value.Mul(p.weights[j][item], often)
	}
	if j == 0 {
		value.Add(value, p.constant)
	}
	return value
}

// least returns the least that an index of a span adds: on a grid at an end.
func (p *pull) least(a *axis, j int, s *span) *big.Int {
	var out *big.Int
	for _, i := range a.candidates(s, a.start) {
		if value := p.at(a, j, i); out == nil || value.Cmp(out) < 0 {
			out = value
		}
	}
	return out
}
