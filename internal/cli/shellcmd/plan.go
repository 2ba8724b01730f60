package shellcmd

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// planCall checks a command line of a session as takt itself would, and applies the rules: its
// files must be below the folder of sessions, and its targets must be allowed.
func (e host) planCall(args []string, rules shell.Rules) (shell.Plan, error) {
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), io.Discard, io.Discard
	e.Settings = &core.Settings{}
	plan, err := e.confine(args, rules)
	if err != nil {
		return plan, err
	}
	_, err = e.Inspect(plan.Args)
	return plan, err
}

// confine applies the rules to a command line, and to the one after --.
func (e host) confine(args []string, rules shell.Rules) (shell.Plan, error) {
	root := e.Root(e.Env)
	cmd, depth := core.FindCommand(root, args)
	if depth < len(args) && cmd.HasSubCommands() && !strings.HasPrefix(args[depth], "-") {
		return shell.Plan{}, core.UnknownCommand(cmd, args[depth])
	}
	end := len(args) // end of this command's words; another command may follow after --
	if i := slices.Index(args, "--"); i >= 0 && core.RunsAnother(cmd) {
		end = i
	}
	k := &confined{env: e.Env, rules: rules, cmd: cmd, args: slices.Clone(args[:end]), shown: slices.Clone(args[:end]), words: args[:end]}
	k.flags(depth)
	plan := shell.Plan{Args: k.args, Shown: k.shown, Secret: k.secret}
	if end < len(args) {
		inner, err := e.confine(args[end+1:], rules)
		k.faults = core.AppendError(k.faults, err)
		plan.Args = slices.Concat(plan.Args, []string{"--"}, inner.Args)
		plan.Shown = slices.Concat(plan.Shown, []string{"--"}, inner.Shown)
		plan.Secret = plan.Secret || inner.Secret
	}
	return plan, errors.Join(k.faults...)
}

// confined is the command line of one command, word by word.
type confined struct {
	env    core.Env
	rules  shell.Rules
	cmd    *cobra.Command
	words  []string // words as typed
	args   []string // words to run, with files below the folder of sessions
	shown  []string // words without secrets
	secret bool     // shown differs from words
	faults []error
}

func (k *confined) deny(format string, args ...any) {
	k.faults = append(k.faults, shell.Denied(fmt.Sprintf(format, args...)))
}

// flags checks each flag and each argument.
func (k *confined) flags(depth int) {
	p := core.NewFlagParser(k.cmd, k.words[depth:])
	p.Seen = func(f *pflag.Flag, value string) { k.flag(f, value, len(k.words)-len(p.Rest)-1, p.Refused) }
	p.Parse()
	if len(p.Faults) == 0 {
		k.settings(p)
	}
	k.faults = append(k.faults, p.Faults...)
	if len(p.Faults) > 0 || p.Help {
		return
	}
	for i, word := range p.Positional {
		k.argument(word, i, len(p.Positional))
	}
	for i := range k.words {
		k.show(i, value.HidePassword(k.shown[i]))
	}
	k.template(strings.Join(k.words, " "))
	k.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(value.Flag); ok && !p.IsGiven(f.Name) {
			k.machines(f, v.Names(f.Value.String())) // default targets, too
		}
	})
}

// settings checks the config file of --config like typed flags, because a session may have
// written the file.
func (k *confined) settings(p *core.FlagParser) {
	f := k.cmd.Flags().Lookup(core.ConfigFlag)
	if f == nil || !f.Changed || len(k.faults) > 0 {
		return
	}
	safe, err := k.below(f.Value.String())
	if err != nil {
		return // flag has reported it
	}
	_ = f.Value.Set(safe) // cannot fail for a text
	env := k.env
	env.Getenv, env.Environ = func(string) string { return "" }, nil
	p.Fill(env, k.cmd)
	for _, s := range p.Given {
		if s.Origin.Kind == core.FromFile {
			k.names(k.cmd.Flags().Lookup(s.Name), s.Value)
			k.template(s.Value)
		}
	}
}

// fileTemplate matches a placeholder that reads a file.
var fileTemplate = regexp.MustCompile("\\{\\{\\s*file\\s*[\"`][^}]{0,100}}{0,2}")

// template refuses a text with a placeholder that reads a file.
func (k *confined) template(text string) {
	if at := fileTemplate.FindString(text); at != "" {
		k.deny("%s reads a file of the server's; name one with --body-file or --targets", at)
	}
}

// show replaces a shown word.
func (k *confined) show(i int, text string) {
	if k.shown[i] != text {
		k.shown[i], k.secret = text, true
	}
}

// flag checks a flag whose value is the end of word at.
func (k *confined) flag(f *pflag.Flag, text string, at int, refused []string) {
	safe := k.names(f, text)
	if at < 0 || !strings.HasSuffix(k.words[at], text) || text == "" {
		return
	}
	before := strings.TrimSuffix(k.words[at], text)
	if core.IsSecret(f) {
		hidden := takt.Redacted
		if r, ok := f.Value.(core.Redacter); ok {
			hidden = r.Redact(text)
		} else if !core.HoldsSecret(f) && !slices.Contains(refused, f.Name) { // a proxy without credentials
			hidden = text
		}
		k.show(at, before+hidden)
	}
	k.args[at] = before + safe
}

// names applies the rules to the files and machines in a flag's text, and returns the text with
// its file below the folder of sessions.
func (k *confined) names(f *pflag.Flag, text string) string {
	v, ok := f.Value.(value.Flag)
	if !ok {
		if !value.IsNumber(f.Value) {
			k.deny("--%s is not allowed in sessions: takt does not know which files and machines it names", f.Name)
		}
		return text
	}
	all := v.Names(text)
	k.machines(f, all)
	for _, n := range all {
		switch n.Kind {
		case value.Writes:
			if k.rules.Look {
				k.deny("--%s %s: the role look writes no files", f.Name, text)
			}
			fallthrough
		case value.Reads:
			safe, err := k.below(n.Text)
			if err != nil {
				k.deny("--%s %s: %v", f.Name, text, err)
			}
			text = strings.TrimSuffix(text, n.Text) + safe
		case value.Private:
			if !k.rules.Own {
				k.deny("--%s %s: %s", f.Name, value.HidePassword(text), n.Text)
			}
		}
	}
	return text
}

// machines checks that the machines named by a flag are allowed targets.
func (k *confined) machines(f *pflag.Flag, names []value.Name) {
	for _, n := range names {
		switch {
		case k.rules.Allow == nil:
		case n.Kind == value.Anywhere:
			k.deny("--%s leads to targets that the server cannot check against --allow-target; leave it out", f.Name)
		case n.Kind == value.Loads:
			k.allowed(n.Text)
		}
	}
}

// below is the path of a name below the folder of sessions.
func (k *confined) below(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return name, errors.New("sessions have files below the server's folder for them only; give a name without .. and a leading /")
	}
	path := filepath.Join(k.rules.Dir, name)
	if leadsOut(path, k.rules.Dir) {
		return name, errors.New("a link leads out of the server's folder for sessions; give another name")
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeDevice|os.ModeIrregular) != 0 {
		return name, errors.New("it is a pipe or a device, which takt would wait for; give the name of a file") // sessions cannot create one
	}
	return path, nil
}

// leadsOut reports whether a path below a folder is elsewhere, because of a symbolic link. Sessions
// cannot create links, but others who can write there may have done it.
func leadsOut(path, folder string) bool {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false // it does not exist, so nothing is in it
	}
	for at := path; len(at) > len(folder); at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			inside, err := filepath.Rel(root, real)
			return err != nil || !filepath.IsLocal(inside)
		}
		if _, err := os.Lstat(at); err == nil {
			return true // a link to what does not exist yet
		}
	}
	return false
}

// argument checks a word that is not a flag: the target of a load, else a run or a filter.
func (k *confined) argument(word string, i, of int) {
	switch name := k.cmd.Name(); {
	case slices.Contains([]string{"runs", "history", "collate", "compare", "show", "verify", "capacity", "help"}, name),
		core.IsLog(k.cmd, i, of):
		for one := range strings.SplitSeq(word, ",") { // members of a group
			if _, err := k.below(one); err != nil && one != "" {
				k.deny("%s: %v", one, err)
			}
		}
	case k.rules.Allow != nil && core.LoadsTargets(k.cmd.Parent().Name()):
		k.allowed(word)
	}
}

// allowed checks a URL, host or host:port against the list of allowed targets.
func (k *confined) allowed(target string) {
	if !strings.Contains(target, "://") {
		target = "//" + target
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || strings.Contains(u.Host, "{{") {
		k.deny("the server cannot check %s against --allow-target; give a plain URL", value.HidePassword(target))
		return
	}
	if host := u.Host; !k.rules.Allow(host) {
		k.deny("%s may not be loaded; the server allows what --allow-target lists", host)
	}
}
