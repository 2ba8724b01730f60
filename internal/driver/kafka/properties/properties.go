package properties

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// Setting is a flag of takt with the value that the file gives it.
type Setting struct {
	Flag, Value string
	Origin      string // FILE:LINE: PROPERTY
}

// Flags says what a command has.
type Flags struct {
	Has   func(flag string) bool                    // the command has this flag
	Given func(flag string) (value string, ok bool) // … and the user gave it, so it wins
}

// Result is what a file means for one command.
type Result struct {
	Settings []Setting
	PEM      map[string][]byte // texts within the file, in place of the files of --tls-ca-cert, --tls-cert-file and --tls-key-file
	Ignored  []string          // properties that have no effect, as people may see them
	Open     bool              // every user of this machine can read the file, which has a password or a key
	Faults   []error
}

// Read reads a file for a command.
func Read(path string, flags Flags) Result {
	list, open, err := readFile(path)
	if err != nil {
		return Result{Faults: []error{value.Faultf("cannot read --properties: %w; check the file", err)}}
	}
	r := &reader{path: path, flags: flags, entries: map[string]*property{}}
	for _, e := range list {
		if p := r.entries[e.key]; p != nil { // the last one counts, at the place of the first
			p.entry = e
			continue
		}
		p := &property{entry: e}
		r.entries[e.key], r.order = p, append(r.order, p)
	}
	r.out.PEM = map[string][]byte{}
	r.connect()
	r.tune()
	for _, p := range r.order {
		if !p.used {
			r.out.Ignored = append(r.out.Ignored, p.shown())
		}
		r.out.Open = r.out.Open || open && p.isSecret()
	}
	return r.out
}

// property is an entry of the file.
type property struct {
	entry
	used bool // the property has its effect, or a flag of the user replaces it
}

// isSecret reports whether the value must not be seen.
func (p *property) isSecret() bool {
	return strings.Contains(p.key, "password") || strings.Contains(p.key, "jaas") || strings.Contains(p.key, "keystore.key") || strings.Contains(p.key, "secret")
}

// name matches the names of properties.
var name = regexp.MustCompile(`^[a-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

// mostShown is the longest name that people see.
const mostShown = 60

// shown is the property's name, or only its line if this may be something else: a file with a
// password has one line without a separator.
func (p *property) shown() string {
	if p.plain || !name.MatchString(p.key) || len(p.key) > mostShown {
		return fmt.Sprintf("line %d", p.line)
	}
	return p.key
}

// reader turns entries into flags.
type reader struct {
	path    string
	flags   Flags
	entries map[string]*property
	order   []*property
	out     Result
}

// get returns a property that has an effect; nil: the file does not have it, or a fault was found.
func (r *reader) get(key string) *property {
	p := r.entries[key]
	if p == nil {
		return nil
	}
	p.used = true
	p.value = strings.TrimSpace(p.value) // as Kafka does
	if strings.Contains(p.value, "${") && r.entries["config.providers"] != nil {
		r.fault(p, "refers to a config provider, which takt does not ask; write the value itself")
		return nil
	}
	return p
}

// fault adds a fault of a property, whose text does not have the value of a secret.
func (r *reader) fault(p *property, format string, args ...any) {
	r.out.Faults = append(r.out.Faults, fmt.Errorf("%s: %s", r.origin(p), fmt.Sprintf(format, args...)))
}

func (r *reader) origin(p *property) string { return fmt.Sprintf("%s:%d: %s", r.path, p.line, p.key) }

// isGiven reports whether the user gave one of the flags.
func (r *reader) isGiven(flags ...string) bool {
	for _, f := range flags {
		if _, ok := r.flags.Given(f); ok {
			return true
		}
	}
	return false
}

// set gives a flag a value, unless the user did.
func (r *reader) set(p *property, flag, value string) {
	if !r.isGiven(flag) {
		r.out.Settings = append(r.out.Settings, Setting{flag, value, r.origin(p)})
	}
}
