package cli

import (
	"flag"
	"io"
)

// The standard library's flags, under names that do not collide with pflag's.
type (
	goFlagSet = flag.FlagSet
	goFlag    = flag.Flag
)

func newGoFlagSet(name string) *goFlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}
