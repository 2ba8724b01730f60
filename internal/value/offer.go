package value

import "flag"

// Chooser is a Flag that offers words, for the completion of a shell. An offered word that ends
// with =, : or :// is the beginning of a value.
type Chooser interface{ Choices() []string }

// RunTaker is a Flag whose value may be a stored run.
type RunTaker interface{ TakesRuns() }

type offering struct {
	Flag
	words []string
}

// Choices implements Chooser.
func (o offering) Choices() []string { return o.words }

type offeringList struct{ offering }

func (offeringList) Repeats() {}

// Offering is v with words that a shell completes; v accepts others, too.
func Offering(v Flag, words ...string) Flag {
	o := offering{v, words}
	if _, ok := v.(Repeater); ok {
		return offeringList{o}
	}
	return o
}

type runs struct{ list }

// TakesRuns implements RunTaker.
func (runs) TakesRuns() {}

// Resolver is a flag that takes its value from variables of another program. from says which they
// are, with their values; "": the user gave the value, or nobody did.
type Resolver interface{ Resolved() (text, from string) }

// ResolvingValue is the value of a flag for Auto.
type ResolvingValue interface {
	flag.Value
	Resolver
}

type auto struct {
	offering
	Resolver
}

// Auto is Plain for a flag that accepts auto, for a value from variables of another program.
func Auto(v ResolvingValue) Flag { return auto{offering{plain{v}, []string{"auto"}}, v} }
