package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// FORMAT 1: the file, and the parts of a certificate in the order in which they are looked at.

const maxText = 512 << 20

// check reads one certificate and says what it is worth. It never fails otherwise.
func check(path string) (v verdict) {
	c := &checker{where: "the certificate"}
	defer func() {
		switch s := recover().(type) {
		case nil:
		case stop:
			v = verdict{s.kind, c.where, s.why}
		default: // a fault of the checker's own: certainly not accepted
			v = verdict{unusable, c.where, fmt.Sprintf("this checker fails at %s: %v", c.where, s)}
		}
	}()
	c.certificate(parseJSON(unpacked(path)), filepath.Dir(path))
	return verdict{kind: accepted, why: c.says()}
}

func (c *checker) certificate(value any, folder string) {
	fields, ok := value.(map[string]any)
	if !ok {
		giveUp("a certificate is a JSON object")
	}
	if _, there := fields["mace_plan"]; there {
		c.plan(value, folder)
		return
	}
	if _, there := fields["mace_set"]; there {
		c.set(value, folder)
		return
	}
	if _, there := fields["mace_rows"]; there {
		c.rowsOf(value, folder)
		return
	}
	switch fields["mace_certificate"] {
	case int64(2):
	case int64(1):
		giveUp("format 1")
	default:
		refuse("no certificate of format 2")
	}
	f := object(value, "mace_certificate", "about?", "statement", "witness", "cuts", "proof")
	c.statement(f["statement"], f["cuts"], folder)
	c.witness(f["witness"])
	c.proof(f["proof"])
}

func (c *checker) statement(value, cuts any, folder string) {
	c.where = "the statement"
	f := object(value, "features", "columns", "model", "goal", "distance", "rules", "avoid", "most_changes", "claim")
	c.world = readWorld(f)
	c.where = "the model"
	model, ok := f["model"].(map[string]any)
	require(ok, "a model is an object")
	if digest, there := model["sha256"]; there {
		if len(model) != 1 {
			giveUp("a digest and something else")
		}
		model, ok = sharedModel(folder, digest).(map[string]any)
		require(ok, "a model is an object")
	}
	switch oneOf(model["kind"], "ensemble", "network") {
	case "ensemble":
		c.trees = readEnsemble(model, c.world)
		c.goalOf(f["goal"], len(c.trees.start))
		c.trees.prepare(c.world)
		c.where = "the cuts"
		c.trees.readCuts(cuts)
	case "network":
		c.net = readNetwork(model, c.world)
		c.goalOf(f["goal"], len(c.net.layers[len(c.net.layers)-1].bias))
		c.net.prepare(c.world)
		c.where = "the cuts"
		listOf(cuts, 0)
	}
}

func (c *checker) goalOf(value any, scores int) {
	c.where = "the goal"
	c.readGoal(value, scores)
	c.where = "the model"
}

func (c *checker) says() string {
	if c.plans != nil {
		return c.saysOfPlans()
	}
	if c.setCount != nil {
		return c.saysOfSet()
	}
	if c.anywhere {
		return "there is no point with the goal"
	}
	if c.rowCount > 0 {
		q, _ := c.claim.Float64()
		return fmt.Sprintf("no point with the goal is closer than about %v to any of %d rows", q, c.rowCount)
	}
	q := c.claim.RatString()
	if x, _ := c.claim.Float64(); len(q) > 40 {
		q = fmt.Sprintf("about %v", x)
	}
	return "no point with the goal is closer than " + q
}

// unpacked returns the text of a file, of at most 512 MiB.
func unpacked(path string) []byte {
	info, err := os.Stat(path)
	if err != nil {
		giveUp("the file cannot be read")
	}
	if !info.Mode().IsRegular() {
		giveUp("not a regular file")
	}
	if info.Size() > maxText {
		giveUp("too large: more than %d bytes", maxText)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		giveUp("the file cannot be read")
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	rest := bytes.NewReader(data)
	member, err := gzip.NewReader(rest)
	if err != nil {
		giveUp("no gzip file")
	}
	member.Multistream(false)
	text, err := io.ReadAll(io.LimitReader(member, maxText+1))
	if err != nil {
		giveUp("no gzip file: %v", err)
	}
	if len(text) > maxText {
		giveUp("too large: more than %d bytes of text", maxText)
	}
	if rest.Len() != 0 {
		giveUp("there is something after the gzip member")
	}
	return text
}

var digestText = regexp.MustCompile(`^[0-9a-f]{64}$`)

// sharedModel reads the model in the folder of the certificate that has this digest, 1.5.
func sharedModel(folder string, digest any) any {
	name, ok := digest.(string)
	if !ok || !digestText.MatchString(name) {
		giveUp("a digest is 64 hexadecimal digits")
	}
	model := unpacked(filepath.Join(folder, name+".model.json.gz"))
	sum := sha256.Sum256(model)
	if hex.EncodeToString(sum[:]) != name {
		giveUp("the file of the model has another digest")
	}
	return parseJSON(model)
}
