package manifest

import "github.com/spf13/pflag"

func sshEngine() Engine {
	return Engine{
		Name:    "ssh",
		Short:   "a script that starts the shards on hosts by ssh",
		Example: `  takt fleet manifest ssh --hosts load1,load2 -- http --rate 400k/s -z 5m http://shop/ | sh`,
		New:     func() Writer { return &ssh{} },
	}
}

// ssh are the options of a script that starts the shards by ssh.
type ssh struct{}

// AddFlags implements Writer.
func (s *ssh) AddFlags(fs *pflag.FlagSet, f *Fleet) { f.AddDeadlineFlag(fs) }

// Validate implements Writer.
func (s *ssh) Validate(f *Fleet) []error { return nil }

// Text implements Writer.
func (s *ssh) Text(f *Fleet) string { return "" }
