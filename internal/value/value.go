// Package value has the flags of takt. Each flag says what its text names outside of takt:
// files and machines. That is how a session of takt server is held to what it may name: a
// new flag needs no list, and a flag that does not say what it names is closed to sessions.
package value

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// Kind is what a name stands for.
type Kind uint8

// The kinds of names.
const (
	Reads   Kind = iota // a file or folder that takt reads
	Writes              // a file or folder that takt writes
	Loads               // a machine that takt connects to: a URL, a host or HOST:PORT
	Private             // what only the owner of a server may name; Text says what else to do
	Starts              // a command that takt runs, or a folder in which it runs a program
)

// Name is a part of a flag's text.
type Name struct {
	Kind Kind
	Text string
}

// Flag is the value of a flag that says what it names.
type Flag interface {
	pflag.Value
	// Names are the names in a text that Set takes. Of "" they are those that hold when the
	// flag is not given.
	Names(text string) []Name
}

// Named are the names of one kind in a text of a flag; nil: the text has none.
func Named(v pflag.Value, text string, kind Kind) (texts []string) {
	if f, ok := v.(Flag); ok {
		for _, n := range f.Names(text) {
			if n.Kind == kind {
				texts = append(texts, n.Text)
			}
		}
	}
	return texts
}

// Shower is a Flag that help shows in another form than String, which config files have.
type Shower interface{ Shown() string }

// Stdio stands for standard input or output in the place of a file.
const Stdio = "-"

// word is a flag that keeps its text as it is.
type word struct {
	p     *string
	names func(text string) []Name
}

func (w word) Set(s string) error       { *w.p = s; return nil }
func (w word) String() string           { return *w.p }
func (w word) Type() string             { return "string" } // pflag quotes its default then
func (w word) Names(text string) []Name { return w.names(text) }

// list is a repeatable flag that keeps its texts as they are.
type list struct {
	p     *[]string
	shown bool
	names func(text string) []Name
}

func (l list) Set(s string) error       { *l.p = append(*l.p, s); return nil }
func (l list) Type() string             { return "list" }
func (list) Repeats()                   {}
func (l list) Names(text string) []Name { return l.names(text) }

func (l list) String() string {
	if !l.shown {
		return ""
	}
	return strings.Join(*l.p, ",")
}

func none(string) []Name { return nil }

func file(kind Kind) func(string) []Name {
	return func(text string) []Name {
		if text == "" || text == Stdio {
			return nil
		}
		return []Name{{kind, text}}
	}
}

func machines(text string) (names []Name) {
	list, _ := Addresses(text)
	for _, one := range list {
		if one != "" {
			names = append(names, Name{Loads, one})
		}
	}
	return names
}

// Addresses splits a list of machines at its commas. It also knows the lists of JMS clients, whose
// options follow a question mark: failover:(URL,URL)?OPTIONS and (URL,URL)?OPTIONS.
func Addresses(text string) (list []string, options string) {
	if rest, ok := strings.CutPrefix(text, "failover:"); ok {
		text = strings.TrimPrefix(rest, "//")
	}
	if inner, rest, ok := strings.Cut(text, ")"); ok && strings.HasPrefix(inner, "(") && (rest == "" || rest[0] == '?') {
		return strings.Split(inner[1:], ","), strings.TrimPrefix(rest, "?")
	}
	return strings.Split(text, ","), ""
}

// Text names nothing outside of takt.
func Text(p *string) Flag { return word{p, none} }

// choice is one of some words.
type choice struct {
	word
	choices []string
}

func (c choice) Set(s string) error {
	if !slices.Contains(c.choices, s) {
		last := len(c.choices) - 1
		return fmt.Errorf("%.60q is unknown; use %s or %s", s, strings.Join(c.choices[:last], ", "), c.choices[last])
	}
	return c.word.Set(s)
}

// Choices implements Chooser.
func (c choice) Choices() []string { return c.choices }

// Choice is one of these words, of which there are two at least.
func Choice(p *string, choices ...string) Flag { return choice{word{p, none}, choices} }

// InFile is a file or folder that takt reads; - is standard input.
func InFile(p *string) Flag { return word{p, file(Reads)} }

// InFiles is InFile for a flag that may be given several times.
func InFiles(p *[]string) Flag { return list{p, true, file(Reads)} }

// OutFile is a file or folder that takt writes; - is standard output.
func OutFile(p *string) Flag { return word{p, file(Writes)} }

// Target is a machine that takt connects to, or several with commas between them.
func Target(p *string) Flag { return word{p, machines} }

// TargetOr is Target where another one holds when the flag is not given.
func TargetOr(p *string, other string) Flag {
	return word{p, func(text string) []Name {
		if text == "" {
			text = other
		}
		return machines(text)
	}}
}

// Listen is an address, or the path of a socket, that takt listens on.
func Listen(p *string) Flag {
	return word{p, func(string) []Name { return []Name{{Private, "a session opens no ports"}} }}
}

// Owned is a text that only the owner of a server may give, such as a command that takt runs. advice
// says so to the others.
func Owned(p *string, advice string) Flag {
	return word{p, func(text string) []Name {
		if text == "" {
			return nil
		}
		return []Name{{Private, advice}}
	}}
}

// OwnedPath is a file or folder that only the owner of a server may name: a library or a program opens it by
// its name, or it names further files. advice says so to the others.
func OwnedPath(p *string, advice string) Flag {
	return word{p, func(text string) []Name {
		if text == "" {
			return nil
		}
		return append(file(Reads)(text), Name{Private, advice})
	}}
}

// Starting is v where the text makes takt start programs.
func Starting(v Flag) Flag {
	return Naming(v, func(text string) []Name {
		names := v.Names(text)
		if text != "" {
			names = append(names, Name{Starts, text})
		}
		return names
	})
}

// OwnedList is Owned for a flag that may be given several times.
func OwnedList(p *[]string, advice string) Flag { return list{p, true, Owned(nil, advice).Names} }

// Store is where runs are kept: a file, or the URL of a cluster.
func Store(p *string) Flag {
	return Offering(storeWord{word{p, func(text string) []Name {
		if strings.Contains(text, "://") {
			return []Name{{Private, "a session chooses a cluster with elasticsearch use URL [USER [PASSWORD]]"}, {Loads, text}}
		}
		if text == "" {
			return nil
		}
		return append(file(Writes)(text), Name{Private, "the library of the database opens its files itself; a session with a token has the server's store"})
	}}}, "elasticsearch://", "opensearch://")
}

// storeWord refuses none: other flags have it, and it would be the name of a file here.
type storeWord struct{ word }

// Set implements pflag.Value.
func (s storeWord) Set(text string) error {
	if text == "none" {
		return errors.New("none would be the name of a file; to store nothing use --no-store, and for such a file write ./none")
	}
	return s.word.Set(text)
}

// List is a repeatable flag of texts that name nothing outside of takt.
func List(p *[]string) Flag { return list{p, true, none} }

// Targets is a repeatable flag of machines that takt connects to. It does not print itself:
// a URL may have a password.
func Targets(p *[]string) Flag { return list{p, false, machines} }

// Outputs is a repeatable flag of FORMAT=PATH.
func Outputs(p *[]string) Flag { return list{p, true, outputFile} }

// Output is FORMAT, or FORMAT=PATH.
func Output(p *string) Flag { return word{p, outputFile} }

func outputFile(text string) []Name {
	_, path, _ := strings.Cut(text, "=")
	return file(Writes)(path)
}

// Runs is a repeatable flag of runs of the store, or files with runs: texts with a dot or a
// slash.
func Runs(p *[]string) Flag { return runs{list{p, true, runFile}} }

func runFile(text string) []Name {
	if !strings.ContainsAny(text, "/.") {
		return nil
	}
	return file(Reads)(text)
}

// Sides is a repeatable flag of what Runs takes, of conditions on runs, and of targets to load.
func Sides(p *[]string, isTarget, isCondition func(text string) bool) Flag {
	return runs{list{p, true, func(text string) []Name {
		switch {
		case isTarget(text):
			return machines(text)
		case isCondition(text) && filepath.IsLocal(text):
			return nil
		}
		return runFile(text)
	}}}
}

// ownersNumber is a number that only the owner of a server may set.
type ownersNumber struct {
	p      *int
	advice string
}

func (o ownersNumber) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err == nil {
		*o.p = n
	}
	return err
}

func (o ownersNumber) String() string { return strconv.Itoa(*o.p) }
func (ownersNumber) Type() string     { return "int" }

func (o ownersNumber) Names(text string) []Name {
	if text == "" {
		return nil
	}
	return []Name{{Private, o.advice}}
}

// OwnersNumber is a number that only the owner of a server may set; advice says why.
func OwnersNumber(p *int, advice string) Flag { return ownersNumber{p, advice} }

// plain is a flag with a syntax of its own that names nothing outside of takt.
type plain struct{ flag.Value }

func (plain) Type() string        { return "value" }
func (plain) Names(string) []Name { return nil }

// Plain makes a Flag of a flag.Value that names nothing outside of takt, and is no secret.
func Plain(v flag.Value) Flag { return plain{v} }

type naming struct {
	Flag
	names func(text string) []Name
}

func (n naming) Names(text string) []Name { return n.names(text) }

type namingList struct{ naming }

func (namingList) Repeats() {}

// Naming is v with the names that another function finds in its text.
func Naming(v Flag, names func(text string) []Name) Flag {
	n := naming{v, names}
	if _, ok := v.(Repeater); ok {
		return namingList{n}
	}
	return n
}

type repeated struct{ plain }

func (repeated) Repeats() {}

// Repeated is Plain for a flag that may be given several times.
func Repeated(v flag.Value) Flag { return repeated{plain{v}} }

// Repeater is a Flag that may be given several times.
type Repeater interface{ Repeats() }

// duration prints 0 as pflag does a number, so that help does not show a default of 0s.
type duration struct{ plain }

func (d duration) String() string {
	if s := d.plain.String(); s != "0s" {
		return s
	}
	return "0"
}

// Duration is a time that schedule.ParseDuration reads.
func Duration(p *time.Duration) Flag { return duration{plain{(*schedule.DurationValue)(p)}} }

// secret is a flag that never shows its text.
type secret struct{ *takt.Secret }

func (secret) Redact(string) string { return takt.Redacted }
func (secret) Type() string         { return "string" }
func (secret) Names(string) []Name  { return nil }

// Secret is a text that takt never shows.
func Secret(p *takt.Secret) Flag { return secret{p} }

// IsNumber reports whether v is one of pflag's own numbers or booleans, which name nothing.
func IsNumber(v pflag.Value) bool {
	switch v.Type() {
	case "bool", "int", "int64", "uint", "uint64", "float64":
		return true
	}
	return false
}
