package main

import "fmt"

// Verdicts and their exit codes.
const (
	accepted = "accepted"
	refused  = "refused"
	unusable = "unusable"
)

var exitCodes = map[string]int{accepted: 0, unusable: 2, refused: 10}

// verdict is what the checker says of one certificate: the node or part that it stopped at, and why.
type verdict struct{ kind, where, why string }

func (v verdict) String() string {
	if v.kind == refused {
		return fmt.Sprintf("refused at %s: %s", v.where, v.why)
	}
	return v.kind + ": " + v.why
}

// stop is thrown by refuse and giveUp and caught in check alone.
type stop struct{ kind, why string }

// refuse ends the check: this certificate proves nothing.
func refuse(format string, args ...any) {
	panic(stop{refused, fmt.Sprintf(format, args...)})
}

// giveUp ends the check: this is no certificate that can be read.
func giveUp(format string, args ...any) {
	panic(stop{unusable, fmt.Sprintf(format, args...)})
}

// require refuses unless the condition holds.
func require(condition bool, format string, args ...any) {
	if !condition {
		refuse(format, args...)
	}
}
