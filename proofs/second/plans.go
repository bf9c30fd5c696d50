package main

import (
	"fmt"
	"math/big"
)

// FORMAT 12: plans. The proof is a tree over sequences of actions; its ends are proofs of section 6.

const maxOpen = 5_000_000 // sequences that are open at once

type taken struct {
	action int
	spans  []*span
}

// sequence is some first actions with spans of their parameters; done: nothing follows.
type sequence struct {
	steps []taken
	done  bool
}

type plans struct {
	horizon int64
	actions []*action
	never   bool
	claim   *big.Rat
}

func (c *checker) plan(value any, folder string) {
	f := object(value, "mace_plan", "about?", "statement", "world", "claim", "witness", "cuts", "proof")
	require(f["mace_plan"] == int64(1), "no certificate of plans of form 1")
	c.statement(f["statement"], f["cuts"], folder)
	require(c.anywhere, "the claim about ends is that there is none")
	c.where = "the claim"
	c.plans = &plans{}
	said, ok := f["claim"].(map[string]any)
	require(ok, "the claim is an object")
	if _, there := said["never"]; there {
		require(boolean(object(said, "never")["never"]), "never is true or not there")
		c.plans.never = true
	} else {
		c.plans.claim = notNegative(object(said, "cheaper_than")["cheaper_than"])
	}
	c.where = "the world"
	w := object(f["world"], "horizon", "actions")
	horizon := integer(w["horizon"])
	require(horizon.Sign() > 0, "no action may be taken")
	c.plans.horizon = 1 << 40 // no file has as many actions
	if horizon.IsInt64() && horizon.Int64() < c.plans.horizon {
		c.plans.horizon = horizon.Int64()
	}
	for _, item := range list(w["actions"]) {
		c.plans.actions = append(c.plans.actions, c.readAction(item))
	}
	c.planWitness(f["witness"])
	c.planProof(f["proof"])
}

func (c *checker) saysOfPlans() string {
	if c.plans.never {
		return "no plan leads to a point with the goal"
	}
	q, _ := c.plans.claim.Float64()
	return fmt.Sprintf("no plan that leads to a point with the goal costs less than about %v", q)
}

func (w *world) startBox() []*span {
	var point []*big.Int
	for _, a := range w.axes {
		point = append(point, a.start)
	}
	return w.pointBox(point)
}

// reached returns the box after a sequence and the least of its cost; a nil box: it cannot be taken, 12.5.
func (c *checker) reached(s sequence) ([]*span, *big.Rat) {
	box, cost := c.startBox(), new(big.Rat)
	for _, t := range s.steps {
		next := c.take(c.plans.actions[t.action], box, t.spans)
		if next == nil {
			return nil, nil
		}
		box, cost = next.box, add(cost, next.cost)
	}
	return box, cost
}

func (c *checker) planProof(value any) {
	open := []sequence{{}}
	nodes := list(value)
	c.counted(nodes)
	for k, item := range nodes {
		c.where = fmt.Sprintf("node %d", k)
		require(len(open) > 0, "no sequence is open")
		s := open[len(open)-1]
		node := list(item)
		require(len(node) > 0, "a node is a list that begins with the name of its rule")
		children := c.planNode(s, text(node[0]), node[1:])
		open = open[:len(open)-1]
		for i := len(children) - 1; i >= 0; i-- {
			open = append(open, children[i])
		}
		if len(open) > maxOpen {
			giveUp("too large: more than %d sequences are open", maxOpen)
		}
	}
	c.where = "the end of the proof"
	require(len(open) == 0, "%d sequences are open", len(open))
}

func (c *checker) planNode(s sequence, name string, fields []any) []sequence {
	c.where += ": " + name
	count, known := map[string]int{"step": 0, "split": 3, "dear": 0, "never": 0, "end": len(fields)}[name]
	require(known, "no such rule")
	require(count == len(fields), "the rule has %d fields", count)
	switch name {
	case "step":
		return c.step(s)
	case "split":
		return splitSequence(s, fields)
	case "end":
		require(s.done, "more actions may follow")
		if box, _ := c.reached(s); box != nil {
			c.closes(c.stateOf(box), fields)
		}
		return nil
	}
	box, cost := c.reached(s)
	if name == "never" {
		require(box == nil, "every step may be taken")
		return nil
	}
	require(!c.plans.never, "the claim is not about cost")
	require(box == nil || cost.Cmp(c.plans.claim) >= 0, "it may cost less than the claim")
	return nil
}

func (c *checker) step(s sequence) []sequence {
	require(!s.done, "nothing follows")
	children := []sequence{{s.steps, true}}
	if int64(len(s.steps)) >= c.plans.horizon {
		return children
	}
	used := map[int]bool{}
	for _, t := range s.steps {
		used[t.action] = true
	}
	for k, a := range c.plans.actions {
		if used[k] {
			continue
		}
		next := taken{action: k}
		for _, p := range a.parameters {
			next.spans = append(next.spans, &span{lo: p.first, hi: p.last})
		}
		children = append(children, sequence{append(append([]taken(nil), s.steps...), next), false})
	}
	return children
}

func splitSequence(s sequence, fields []any) []sequence {
	place := small(fields[0], 0, len(s.steps)-1)
	spans := s.steps[place].spans
	k := small(fields[1], 0, len(spans)-1)
	at := integer(fields[2])
	with := func(to *span) sequence {
		steps := append([]taken(nil), s.steps...)
		steps[place].spans = append([]*span(nil), spans...)
		steps[place].spans[k] = to
		return sequence{steps, s.done}
	}
	above := new(big.Int).Add(at, one)
	return []sequence{
		with(spans[k].meet(&span{lo: spans[k].lo, hi: at})), with(spans[k].meet(&span{lo: above, hi: spans[k].hi})),
	}
}

// planWitness refuses unless a plan can be taken, ends with the goal, and costs what is stated, 12.6.
func (c *checker) planWitness(value any) {
	c.where = "the witness"
	if value == nil {
		return
	}
	require(!c.plans.never, "a witness against the claim that there is none")
	f := object(value, "steps", "cost")
	stated, sum, box := rational(f["cost"]), new(big.Rat), c.startBox()
	used := map[int]bool{}
	for _, item := range list(f["steps"]) {
		entry := listOf(item, 2)
		k := small(entry[0], 0, len(c.plans.actions)-1)
		require(!used[k], "an action comes twice")
		used[k] = true
		a := c.plans.actions[k]
		var spans []*span
		for n, value := range listOf(entry[1], len(a.parameters)) {
			i := integer(value)
			require(a.parameters[n].first.Cmp(i) <= 0 && i.Cmp(a.parameters[n].last) <= 0, "no value of the parameter")
			spans = append(spans, &span{lo: i, hi: i})
		}
		next := c.take(a, box, spans)
		require(next != nil && next.sure, "a step may not be taken")
		box, sum = next.box, add(sum, next.cost)
	}
	require(int64(len(used)) <= c.plans.horizon, "too many steps")
	require(sum.Cmp(stated) == 0, "its cost is another")
	require(sum.Cmp(c.plans.claim) >= 0, "it is cheaper than the claim")
	var point []*big.Int
	for _, s := range box {
		point = append(point, s.single())
	}
	c.obeys(point)
}
