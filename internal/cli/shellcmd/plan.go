package shellcmd

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// planCall checks a command line of a session as takt itself would, and applies the rules: its targets
// must be allowed. It refuses early what the opener of the job's process would refuse: files outside of the folder.
func (e host) planCall(args []string, rules shell.Rules) (shell.Plan, error) {
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), io.Discard, io.Discard
	e.Settings, e.Owner = &core.Settings{}, rules.Own
	if !rules.Own { // the job does not see the owner's settings either
		server := e.Getenv
		e.Getenv, e.Environ = func(name string) string {
			if strings.HasPrefix(name, "TAKT_") {
				return ""
			}
			return server(name)
		}, nil
	}
	plan, err := e.confine(args, rules)
	if err == nil {
		_, err = e.Inspect(args)
	}
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
	k := &confined{env: e.Env, rules: rules, cmd: cmd, shown: slices.Clone(args[:end]), words: args[:end]}
	k.flags(depth)
	plan := shell.Plan{Shown: k.shown, Secret: k.secret, Configs: k.configs}
	if end < len(args) {
		inner, err := e.confine(args[end+1:], rules)
		k.faults = core.AppendError(k.faults, err)
		plan.Shown = slices.Concat(plan.Shown, []string{"--"}, inner.Shown)
		plan.Secret, plan.Configs = plan.Secret || inner.Secret, append(plan.Configs, inner.Configs...)
	}
	return plan, errors.Join(k.faults...)
}

// confined is the command line of one command, word by word.
type confined struct {
	env     core.Env
	rules   shell.Rules
	cmd     *cobra.Command
	words   []string       // words as typed
	shown   []string       // words without secrets
	secret  bool           // shown differs from words
	configs []string       // SHA-256 of the config files
	placed  map[string]int // how often a word names a target with a password where a target may be
	others  []string       // flags that lead to other machines
	faults  []error
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
	k.passwords()
	for i := range k.words {
		k.show(i, value.HidePassword(k.shown[i]))
	}
	k.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(value.Flag); ok && !p.IsGiven(f.Name) {
			k.machines(v.Names(f.Value.String())) // default targets, too
		}
	})
}

// named returns the name of a target with a password that a text contains; "": it contains none.
func (k *confined) named(text string) string {
	for _, n := range k.rules.Named {
		if strings.Contains(text, n.URL) {
			return n.Name
		}
	}
	return ""
}

// place notes a word that may contain the name of a target.
func (k *confined) place(word string) {
	if k.placed == nil {
		k.placed = map[string]int{}
	}
	k.placed[word]++
}

// passwords refuses names of targets with passwords where they are no targets, or where the line leads to
// other machines, too: a session may use such a password, and not see it.
func (k *confined) passwords() {
	seen := map[string]int{} // the same word may be at another place, too
	for _, word := range k.words {
		name := k.named(word)
		switch seen[word]++; {
		case name == "":
		case seen[word] > k.placed[word]:
			k.faults = nil // they could quote the word
			k.deny("%s is a target with a password; it can be given only where a target is loaded", name)
			return
		case len(k.others) > 0:
			k.deny("%s has a password, and --%s leads to another machine; leave --%s out", name, k.others[0], k.others[0])
			return
		}
	}
}

// settings checks the config file of --config like typed flags, because a session may have
// written the file. The job accepts the file only as it is now.
func (k *confined) settings(p *core.FlagParser) {
	f := k.cmd.Flags().Lookup(core.ConfigFlag)
	if f == nil || !f.Changed || len(k.faults) > 0 {
		return
	}
	env := k.env
	env.Getenv, env.Environ, env.Settings = func(string) string { return "" }, nil, &core.Settings{}
	p.Fill(env, k.cmd)
	if env.Settings.Config != "" {
		k.configs = append(k.configs, env.Settings.Config)
	}
	for _, s := range p.Given {
		if s.Origin.Kind == core.FromFile {
			k.names(k.cmd.Flags().Lookup(s.Name), s.Value)
		}
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
	k.names(f, text)
	if at >= 0 && slices.ContainsFunc(value.Named(f.Value, text, value.Loads), func(machine string) bool { return k.named(machine) != "" }) {
		k.place(k.words[at])
	}
	if at < 0 || !strings.HasSuffix(k.words[at], text) || text == "" || !core.IsSecret(f) {
		return
	}
	hidden := takt.Redacted
	if r, ok := f.Value.(core.Redacter); ok {
		hidden = r.Redact(text)
	} else if !core.HoldsSecret(f) && !slices.Contains(refused, f.Name) { // a proxy without credentials
		hidden = text
	}
	k.show(at, strings.TrimSuffix(k.words[at], text)+hidden)
}

// names applies the rules to the files and machines in a flag's text.
func (k *confined) names(f *pflag.Flag, text string) {
	v, ok := f.Value.(value.Flag)
	if !ok {
		if !value.IsNumber(f.Value) {
			k.deny("--%s is not allowed in sessions: takt does not know which files and machines it names", f.Name)
		}
		return
	}
	all := v.Names(text)
	k.machines(all)
	if k.named(text) == "" && slices.ContainsFunc(all, func(n value.Name) bool { return n.Kind == value.Loads }) {
		k.others = append(k.others, f.Name)
	}
	for _, n := range all {
		switch n.Kind {
		case value.Writes:
			if k.rules.Look {
				k.deny("--%s %s: the role look writes no files", f.Name, text)
			}
			fallthrough
		case value.Reads:
			if err := below(n.Text); err != nil {
				k.deny("--%s %s: %v", f.Name, text, err)
			}
		case value.Private:
			if !k.rules.Own {
				k.deny("--%s %s: %s", f.Name, value.HidePassword(text), n.Text)
			}
		}
	}
}

// machines checks that the machines named by a flag are allowed targets.
func (k *confined) machines(names []value.Name) {
	for _, n := range names {
		if k.rules.Allow != nil && n.Kind == value.Loads {
			k.allowed(n.Text)
		}
	}
}

// below returns why the opener of a job's process will refuse a name, which a session then sees at once.
func below(name string) error {
	if !filepath.IsLocal(name) {
		return files.ErrOutside
	}
	return files.Check(name)
}

// argument checks a word that is not a flag: the target of a load, else a run or a filter.
func (k *confined) argument(word string, i, of int) {
	for _, n := range payload.Names(word) { // a URL may have placeholders
		if err := below(n.Text); err != nil {
			k.deny("%s: %v", word, err)
		}
	}
	switch name := k.cmd.Name(); {
	case slices.Contains([]string{"runs", "history", "collate", "compare", "show", "verify", "capacity", "help"}, name),
		core.IsLog(k.cmd, i, of):
		for one := range strings.SplitSeq(word, ",") { // members of a group
			if err := below(one); err != nil && one != "" {
				k.deny("%s: %v", one, err)
			}
		}
	case core.LoadsTargets(k.cmd.Parent().Name()):
		k.place(word)
		if k.rules.Allow != nil {
			k.allowed(word)
		}
	}
}

// allowed checks a URL, host or host:port against the list of allowed targets.
func (k *confined) allowed(target string) {
	switch host := reach.HostOf(target); {
	case host == "":
		k.deny("the server cannot check %s against --allow-target; give a plain URL", value.HidePassword(target))
	case !k.rules.Allow(host):
		k.deny("%v", &reach.Refused{Machine: host})
	}
}
