package apmserver

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Switch selects the code under test and how to get it.
type Switch struct {
	Branch     string // BRANCH or REMOTE/BRANCH
	Revision   string // "": the branch's newest revision
	Fetch      bool
	Checkout   bool
	MakeUpdate bool
	Make       bool
	Verbose    bool
}

// Revision is the code of a server.
type Revision struct {
	Branch   string    // branch without the remote; "": unknown
	Hash     string    // "": unknown
	Date     time.Time // date of the commit; zero: unknown
	Subject  string    // short hash and subject of the commit
	Unstaged bool      // the files differ from the commit
}

// SwitchUsage is the command's synopsis.
const SwitchUsage = "apm switch [REMOTE/]BRANCH [REVISION] [-f] [-c] [-u] [-m] [-v]"

// Flags declares the options on fs, each with a long and a short name.
func (s *Switch) Flags(fs *flag.FlagSet) {
	for _, f := range []struct {
		to                *bool
		short, long, help string
	}{
		{&s.Fetch, "f", "fetch", "fetch the remote"},
		{&s.Checkout, "c", "checkout", "check the branch or revision out"},
		{&s.MakeUpdate, "u", "make-update", "run make update"},
		{&s.Make, "m", "make", "run make"},
		{&s.Verbose, "v", "verbose", "show what the commands say"},
	} {
		fs.BoolVar(f.to, f.long, false, f.help)
		fs.BoolVar(f.to, f.short, false, f.help)
	}
}

// ParseSwitch reads the words after apm switch. Options may be anywhere, and short ones
// together, as in -fcmv. The error lists all faults.
func ParseSwitch(words []string) (s Switch, err error) {
	var faults []error
	fs := flag.NewFlagSet("switch", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	s.Flags(fs)
	var names []string
	for _, word := range words {
		if !strings.HasPrefix(word, "-") {
			names = append(names, word)
			continue
		}
		for _, option := range unbundled(word) {
			if fs.Lookup(option) == nil || fs.Set(option, "true") != nil {
				faults = append(faults, fmt.Errorf("apm switch has no option %q in %s; it has -f, -c, -u, -m and -v", option, word))
			}
		}
	}
	switch len(names) {
	case 2:
		s.Revision = names[1]
		fallthrough
	case 1:
		s.Branch = names[0]
	default:
		faults = append(faults, fmt.Errorf("apm switch takes a branch and, if you like, a revision, not %d words; %s", len(names), SwitchUsage))
	}
	if len(names) > 0 {
		faults = append(faults, s.validate())
	}
	return s, errors.Join(faults...)
}

// unbundled returns the names in -fcm, or the name in --fetch.
func unbundled(word string) []string {
	if long, ok := strings.CutPrefix(word, "--"); ok || word == "-" {
		return []string{strings.TrimPrefix(long, "-")}
	}
	return strings.Split(word[1:], "")
}

// validate refuses words that git would treat as options.
func (s *Switch) validate() error {
	var faults []error
	if s.Branch == "" {
		faults = append(faults, errors.New("there is no branch; "+SwitchUsage))
	}
	for _, name := range []string{s.Branch, s.Revision} {
		if strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n:?*[\\^~") || strings.Contains(name, "..") {
			faults = append(faults, fmt.Errorf("%q is not the name of a branch or revision; give one as git shows it", name))
		}
	}
	return errors.Join(faults...)
}

// split splits REMOTE/BRANCH. If remotes are given, the part before the slash must be one of
// them, because a branch may contain slashes.
func (s *Switch) split(remotes []string) (remote, branch string) {
	before, after, found := strings.Cut(s.Branch, "/")
	if found && after != "" && (remotes == nil || slices.Contains(remotes, before)) {
		return before, after
	}
	return "origin", s.Branch
}
