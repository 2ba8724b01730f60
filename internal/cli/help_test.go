package cli

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/value"
)

func helpRoot() *cobra.Command {
	return newRoot(whole(core.Env{Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr, Getenv: func(string) string { return "" }}))
}

// visit calls do for a command and all below it.
func visit(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		visit(c, do)
	}
}

// helpText is the help of a command, as --help or --help-all shows it.
func helpText(t *testing.T, cmd *cobra.Command, flag string) string {
	var out, errs bytes.Buffer
	words := append(strings.Fields(cmd.CommandPath())[1:], flag)
	code := Main(core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}, words)
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("%q: exit code %d, %s", words, code, errs.String())
	}
	return out.String()
}

// Each flag is in a group, so --help-all shows each flag of the command, once.
func TestFlagsHaveGroups(t *testing.T) {
	n := 0
	visit(helpRoot(), func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion" || cmd.Hidden {
			return // cobra's
		}
		all := helpText(t, cmd, "--help-all")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			n++
			if !slices.Contains(value.Groups(), value.GroupOf(f)) && !f.Hidden && f.Name != "help" {
				t.Errorf("%s: --%s is in no group; declare it by value.Declare", cmd.CommandPath(), f.Name)
			}
			shown := regexp.MustCompile(`(?m)^  (-\w,|   ) --`+regexp.QuoteMeta(f.Name)+`( |$)`).FindAllString(all, -1)
			if want := map[bool]int{true: 0, false: 1}[f.Hidden]; len(shown) != want {
				t.Errorf("%s --help-all shows --%s %d times, want %d", cmd.CommandPath(), f.Name, len(shown), want)
			}
		})
	})
	if n < 500 {
		t.Errorf("only %d flags were seen", n)
	}
}

// The help of a load is one screen, and says where the rest is.
func TestHelpIsShort(t *testing.T) {
	loads := 0
	visit(helpRoot(), func(cmd *cobra.Command) {
		if text := helpText(t, cmd, "--help"); strings.Contains(text, "\nFlags:\n\n") {
			t.Errorf("%s --help shows no flag:\n%s", cmd.CommandPath(), text)
		}
		if !core.IsLoad(cmd) && cmd.Flags().Lookup("topic") == nil && cmd.Flags().Lookup("consumers") == nil || strings.HasPrefix(cmd.CommandPath(), "takt config") {
			return
		}
		loads++
		text := helpText(t, cmd, "--help")
		rows := 0
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			rows += max(1, (utf8.RuneCountInString(line)+79)/80)
		}
		if rows > 40 {
			t.Errorf("%s --help has %d lines of 80 columns, want 40 at most:\n%s", cmd.CommandPath(), rows, text)
		}
		count := 0
		for range regexp.MustCompile(`(?m)^  (-\w,|   ) --\w`).FindAllString(helpText(t, cmd, "--help-all"), -1) {
			count++
		}
		if want := fmt.Sprintf("%s --help-all lists all %d flags.\n", cmd.CommandPath(), count); !strings.HasSuffix(text, want) {
			t.Errorf("%s --help does not end with %q:\n%s", cmd.CommandPath(), want, text)
		}
	})
	if loads < 9 {
		t.Errorf("only %d loads were seen", loads)
	}
}

// takt help http all is takt http --help-all.
func TestHelpTopics(t *testing.T) {
	root := helpRoot()
	http := core.Subcommand(root, "http")
	for topic, want := range map[string]string{"http": helpText(t, http, "--help"), "http all": helpText(t, http, "--help-all")} {
		var out bytes.Buffer
		code := Main(core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}, append([]string{"help"}, strings.Fields(topic)...))
		if code != 0 || out.String() != want {
			t.Errorf("help %s: %d, %s", topic, code, out.String())
		}
	}
}

// Sizes have units in help, and the flag accepts them.
func TestSizesInHelp(t *testing.T) {
	files := core.Subcommand(core.Subcommand(helpRoot(), "trace"), "files")
	if text := helpText(t, files, "--help-all"); !strings.Contains(text, "(default 10GiB)") {
		t.Errorf("no 10GiB in %s", text)
	}
	if err := files.Flags().Lookup("limit").Value.Set("10GiB"); err != nil || files.Flags().Lookup("limit").Value.String() != "10737418240" {
		t.Error(err)
	}
}

// A default that help shows is the flag's value without a command line, and not a zero in another
// unit: 0s, where nothing was said.
func TestDefaultsAreTrue(t *testing.T) {
	zero := regexp.MustCompile(`\(default "?(0s?|0ms|0%|0B|false|\[\]|)"?\)`)
	visit(helpRoot(), func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return
		}
		text := strings.Join(strings.Fields(helpText(t, cmd, "--help-all")), " ")
		if at := zero.FindString(text); at != "" {
			t.Errorf("%s --help-all shows %s", cmd.CommandPath(), at)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.DefValue != f.Value.String() {
				t.Errorf("%s: help shows the default %q of --%s, which is %q", cmd.CommandPath(), f.DefValue, f.Name, f.Value)
			}
		})
	})
}
