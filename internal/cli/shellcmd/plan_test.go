package shellcmd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// A protocol that nobody has thought of yet: what its flags may name in a session follows
// from their types.
func TestSessionsAreHeldByTypes(t *testing.T) {
	var text, other string
	var texts []string
	var number int
	var wait time.Duration
	var password takt.Secret
	declare := map[string]func(fs *pflag.FlagSet){
		"text":         func(fs *pflag.FlagSet) { fs.Var(value.Text(&text), "xx", "") },
		"infile":       func(fs *pflag.FlagSet) { fs.Var(value.InFile(&text), "xx", "") },
		"outfile":      func(fs *pflag.FlagSet) { fs.Var(value.OutFile(&text), "xx", "") },
		"owned path":   func(fs *pflag.FlagSet) { fs.Var(value.OwnedPath(&text, "only the owner"), "xx", "") },
		"target":       func(fs *pflag.FlagSet) { fs.Var(value.Target(&text), "xx", "") },
		"target or":    func(fs *pflag.FlagSet) { fs.Var(value.TargetOr(&text, "redis://evil:1"), "xx", "") },
		"targets":      func(fs *pflag.FlagSet) { fs.Var(value.Targets(&texts), "xx", "") },
		"listen":       func(fs *pflag.FlagSet) { fs.Var(value.Listen(&text), "xx", "") },
		"store":        func(fs *pflag.FlagSet) { fs.Var(value.Store(&text), "xx", "") },
		"list":         func(fs *pflag.FlagSet) { fs.Var(value.List(&texts), "xx", "") },
		"outputs":      func(fs *pflag.FlagSet) { fs.Var(value.Outputs(&texts), "xx", "") },
		"output":       func(fs *pflag.FlagSet) { fs.Var(value.Output(&text), "xx", "") },
		"runs":         func(fs *pflag.FlagSet) { fs.Var(value.Runs(&texts), "xx", "") },
		"sides":        func(fs *pflag.FlagSet) { fs.Var(value.Sides(&texts, core.IsTarget, kept.IsFilterText), "xx", "") },
		"duration":     func(fs *pflag.FlagSet) { fs.Var(value.Duration(&wait), "xx", "") },
		"secret":       func(fs *pflag.FlagSet) { fs.Var(value.Secret(&password), "xx", "") },
		"number":       func(fs *pflag.FlagSet) { fs.IntVar(&number, "xx", 0, "") },
		"owner's":      func(fs *pflag.FlagSet) { fs.Var(value.OwnersNumber(&number, "only the owner"), "xx", "") },
		"owned list":   func(fs *pflag.FlagSet) { fs.Var(value.OwnedList(&texts, "only the owner"), "xx", "") },
		"pflag's text": func(fs *pflag.FlagSet) { fs.StringVar(&other, "xx", "", "") },
	}
	const (
		outside = "use only files in the server's folder"
		noFiles = "the role look writes no files"
		evil    = "may not be loaded"
	)
	for _, c := range []struct{ kind, given, want string }{ // want: of the refusal; "": none
		{"text", "/etc/passwd", ""}, {"list", "/etc/passwd", ""},
		{"infile", "/etc/passwd", outside}, {"infile", "../x", outside}, {"infile", "a/b", ""}, {"infile", "-", ""},
		{"outfile", "a", noFiles}, {"output", "csv=a", noFiles}, {"output", "csv=/a", outside}, {"output", "csv=../a", outside}, {"output", "csv", ""},
		{"outputs", "json=a", noFiles}, {"outputs", "json=/a", outside}, {"outputs", "json=-", ""}, {"outputs", "json", ""},
		{"store", "a.db", noFiles}, {"store", "a.db", "has the server's store"}, {"owned path", "a", "only the owner"}, {"owned path", "/a", outside}, {"store", "http://good", "elasticsearch use"},
		{"target", "http://evil/x", evil}, {"target", "good:1,evil:1", evil}, {"target", "good:1", ""}, {"target", "", ""},
		{"target or", "", evil}, {"target or", "good:1", ""},
		{"targets", "http://evil", evil}, {"targets", "http://good", ""},
		{"listen", "127.0.0.1:1", "opens no ports"},
		{"runs", "@-1", ""}, {"runs", "../a.json", outside}, {"runs", "a.json", ""},
		{"sides", "branch=main", ""}, {"sides", "p99<1.5", ""}, {"sides", "x=/../../a", outside}, {"sides", "http://evil", evil}, {"sides", "evil:1", evil}, {"sides", "a.json", ""},
		{"duration", "1s", ""}, {"secret", "tiger", ""}, {"number", "3", ""}, {"owner's", "3", "only the owner"}, {"owned list", "rm -r /@1s", "only the owner"},
		{"target", "failover:(amqp://good,amqp://evil)", evil}, {"target", "(tcp://evil:1,tcp://good)?ha=true", evil}, {"target", "failover:(amqp://good)", ""},
		{"pflag's text", "a", "does not know which files and machines it names"},
	} {
		texts, text = nil, ""
		cmd := &cobra.Command{Use: "redis"}
		(&cobra.Command{Use: "takt"}).AddCommand(cmd)
		core.AddFlags(cmd, declare[c.kind])
		words := []string{"redis", "--xx", c.given}
		if c.given == "" {
			words = words[:1]
		}
		k := &confined{
			rules: shell.Rules{Look: true, Allow: func(host string) bool { return strings.HasPrefix(host, "good") }},
			cmd:   cmd, words: words, shown: slices.Clone(words),
		}
		k.flags(1)
		err := errors.Join(k.faults...)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s %q: %v", c.kind, c.given, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %q: %v; want %s", c.kind, c.given, err, c.want)
		}
		if shown := strings.Join(k.shown, " "); c.kind == "secret" && strings.Contains(shown, "tiger") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}
