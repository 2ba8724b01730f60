// Package program is the protocol between takt and a program that bench.Main makes: lines of JSON on
// the standard input and output of the program. takt reads the command line, shows, judges and stores
// the run; the program performs the operations, and says what it measured.
package program

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/pkg/takt"
)

// Version is the version of the protocol.
const Version = 1

// Greeting is the only argument of a program that takt starts. Programs that do not know it refuse
// it, as a rule without another effect.
const Greeting = "--takt-protocol"

// Hello is the first line of a program.
type Hello struct {
	Takt    int    `json:"takt_protocol"`
	Version string `json:"version"` // of the module takt in the program
	Name    string `json:"name"`    // what the program measures
	Flags   []Flag `json:"flags,omitempty"`
}

// Flag is a flag of the program's own.
type Flag struct {
	Name    string `json:"name"`
	Usage   string `json:"usage,omitempty"`
	Default string `json:"default,omitempty"`
	Type    string `json:"type,omitempty"` // as help shows it, such as duration
	Bool    bool   `json:"bool,omitempty"`
}

// Load is what a program is to send.
type Load struct {
	Engine []string `json:"engine"`          // flags of the engine's options that differ from their defaults
	Flags  []string `json:"flags,omitempty"` // flags of the program's own, as --name=value
	Args   []string `json:"args,omitempty"`
	Rows   bool     `json:"rows,omitempty"` // takt wants a row for each operation

	Journal bool `json:"journal,omitempty"` // takt wants the journal of the run
}

// request is a line from takt.
type request struct {
	Check *Load      `json:"check,omitempty"`
	Run   *Load      `json:"run,omitempty"`
	Start *time.Time `json:"start,omitempty"` // when the schedule begins
	All   bool       `json:"all,omitempty"`   // the next second of the journal is to have all before it
	Stop  bool       `json:"stop,omitempty"`  // as the first signal
	Abort bool       `json:"abort,omitempty"` // as the second signal
}

// reply is a line from the program.
type reply struct {
	*Hello
	Checked bool            `json:"checked,omitempty"`
	Faults  []string        `json:"faults,omitempty"`
	Ready   bool            `json:"ready,omitempty"` // the driver is open, and the run waits for its start
	Second  *live.Snapshot  `json:"second,omitempty"`
	Rows    *rows           `json:"rows,omitempty"`
	Report  json.RawMessage `json:"report,omitempty"`
	Failed  string          `json:"failed,omitempty"` // why there is no report
	Misuse  bool            `json:"misuse,omitempty"` // Failed is the fault of the arguments or flags

	Beginning *engine.Beginning `json:"beginning,omitempty"` // of the journal
	Counted   *engine.Second    `json:"counted,omitempty"`   // a second of the journal
}

// rows are operations that have ended.
type rows struct {
	Phases  []string      `json:"phases,omitempty"`
	Samples []takt.Sample `json:"samples"`
}

// words are the flags that set default options to o.
func words(o engine.Options) (list []string) {
	mine, defaults := flagsOf(&o), flagsOf(ptr(engine.Defaults()))
	mine.VisitAll(func(f *pflag.Flag) {
		if text := f.Value.String(); text != defaults.Lookup(f.Name).Value.String() {
			list = append(list, "--"+f.Name+"="+text)
		}
	})
	return list
}

// options are the options whose words these are.
func options(words []string) (engine.Options, error) {
	o := engine.Defaults()
	o.ReadLog = play.Spacing
	return o, flagsOf(&o).Parse(words)
}

func flagsOf(o *engine.Options) *pflag.FlagSet {
	fs := pflag.NewFlagSet("engine", pflag.ContinueOnError)
	o.AddFlags(fs)
	return fs
}

func ptr[T any](v T) *T { return &v }

// Clash says why a program cannot have a flag of this name; nil: it can.
func Clash(name string) error {
	engines := flagsOf(ptr(engine.Defaults()))
	switch {
	case len(name) == 1:
		long := map[string]string{"o": "output", "h": "help"}[name]
		if f := engines.ShorthandLookup(name); f != nil {
			long = f.Name
		}
		if long != "" {
			return fmt.Errorf("the program has a flag -%[1]s, and -%[1]s is takt's --%[2]s; give it a name of two letters or more", name, long)
		}
		return fmt.Errorf("the program has a flag -%s, and takt keeps names of one letter for itself; give it a name of two letters or more", name)
	case slices.Contains(Taken(), name) || engines.Lookup(name) != nil:
		return fmt.Errorf("the program has a flag --%s, which takt has, too; give it another name", name)
	}
	return nil
}

// Taken are the flags of takt's load commands and of bench.Main that are not those of the engine.
func Taken() []string {
	return []string{
		"output", "assert", "strict", "prove", "label", "label-cmd", "store", "store-limit", "no-store", "abort-on", "until", "progress", "export", "repeat",
		"fault", "git", "run-group", "config", "help", "help-all", "json", "takt-protocol",
	}
}

// mostFirst is the most flags of a program that --help shows.
const mostFirst = 10

// First are the names of the flags of a program that --help shows.
func First(list []Flag) (names []string) {
	for _, f := range list[:min(len(list), mostFirst)] {
		names = append(names, f.Name)
	}
	return names
}

// Secret reports whether the value of a program's flag is probably a secret, which no report contains.
func Secret(name string) bool {
	for _, part := range []string{"password", "secret", "token", "credential", "apikey", "api-key"} {
		if strings.Contains(strings.ToLower(name), part) {
			return true
		}
	}
	return false
}
