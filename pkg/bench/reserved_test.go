package bench

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/program"
)

// Every flag of Main is reserved: a program's own flag of the same name would panic. None is hidden.
func TestMainsFlagsAreReserved(t *testing.T) {
	own := flag.NewFlagSet("x", flag.ContinueOnError)
	own.SetOutput(io.Discard)
	m := mainProgram{flags: own, name: "x", stdout: os.Stdout, stderr: os.Stderr}
	m.define(&mainSettings{engine: engine.Defaults()}).VisitAll(func(f *pflag.Flag) {
		if program.Clash(f.Name) == nil {
			t.Errorf("--%s is not reserved", f.Name)
		}
		if f.Hidden {
			t.Errorf("--%s is accepted, and --help-all does not show it", f.Name)
		}
	})
}

// A flag of the program that refuses its text says what it takes.
func TestWanted(t *testing.T) {
	own := flag.NewFlagSet("x", flag.ContinueOnError)
	own.Duration("wait", 0, "")
	own.Int("size", 0, "")
	own.Float64("part", 0, "")
	own.Int("token", 0, "")
	own.Func("odd", "", func(string) error { return errors.New("never") })
	m := mainProgram{flags: own, stdout: os.Stdout}
	for word, want := range map[string]string{
		"--wait=x":                    `bad --wait "x": give a time such as 1ms`,
		"--size=1.5":                  `bad --size "1.5": give a whole number`,
		"--size=99999999999999999999": `bad --size "99999999999999999999": value out of range; give a whole number`,
		"--token=x":                   `bad --token: give a whole number`,
		"--part=x":                    `bad --part "x": give a number such as 1.5`,
		"--odd=x":                     `bad --odd "x": never`,
	} {
		if err := m.set([]string{word}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		fs := m.define(&mainSettings{engine: engine.Defaults()})
		if err := m.parse(fs, []string{word}); err == nil || err.Error() != want {
			t.Errorf("on the command line: %v, want %s", err, want)
		}
	}
}

// A flag is not the value of the flag before it; --name=--value is.
func TestFlagIsNoValue(t *testing.T) {
	own := flag.NewFlagSet("x", flag.ContinueOnError)
	own.String("name", "", "")
	own.Int("size", 0, "")
	m := mainProgram{flags: own, stdout: os.Stdout}
	for _, c := range []struct{ words, want string }{
		{"--name --size 5", "flag --name needs a value before another flag; if the value begins with --, write --name=VALUE"},
		{"--label --strict", "flag --label needs a value before another flag; if the value begins with --, write --label=VALUE"},
		{"--name=--size --size -5", ""},
		{"--name -", ""},
	} {
		err := m.parse(m.define(&mainSettings{engine: engine.Defaults()}), strings.Fields(c.words))
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.words, err, c.want)
		}
	}
}
