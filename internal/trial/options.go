package trial

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/taktload/takt/internal/judge/generators"
	"github.com/taktload/takt/internal/value"
)

// Options say how generators are judged.
type Options struct {
	Rate        float64       // a second
	Duration    time.Duration // of most runs
	Connections []int         // of each load
	Repeats     int
	Only        []string // names of pathologies; nil: all

	Scale float64            // of all times of the target that are in whole seconds; 0: 1
	Read  *generators.Reader // reads the outputs; nil: takt finds the reader
	H2    bool               // the target speaks HTTP/2, too
	Env   []string           // of the generators
	Dir   string             // for their files

	Told func(line string) // what is done now
}

// Defaults are the settings that the tables of the documentation have.
func Defaults() Options {
	return Options{Rate: 500, Duration: 6 * time.Second, Connections: []int{50, 5}, Repeats: 1}
}

// The bounds of the settings: quantiles need requests, and the target records 1<<20 of them.
const (
	leastTime = time.Second
	mostTime  = 10 * time.Minute
	mostRuns  = 20
	mostAsked = 1 << 19
	mostConns = 10_000
)

// Validate reports every fault.
func (o *Options) Validate() (faults value.Faults) {
	faults.If(o.Rate < 1 || o.Rate > 100_000, "--rate is %g/s; give a rate from 1/s to 100000/s", o.Rate)
	faults.If(o.Duration < leastTime || o.Duration > mostTime, "--duration is %v; give a time from %v to %v", o.Duration, leastTime, mostTime)
	asked := o.Rate * o.Duration.Seconds()
	faults.If(asked > mostAsked, "--rate and --duration are %.0f requests; give at most %d", asked, mostAsked)
	faults.If(o.Repeats < 1 || o.Repeats > mostRuns, "--repeats is %d; give 1 to %d", o.Repeats, mostRuns)
	faults.If(len(o.Connections) == 0, "--connections is empty; give a number for each load, such as 50,5")
	for _, n := range o.Connections {
		faults.If(n < 1 || n > mostConns, "--connections is %d; give 1 to %d", n, mostConns)
	}
	for _, name := range o.Only {
		faults.If(!slices.Contains(PathologyNames(), name), "--only is %q; use one of %s", name, strings.Join(PathologyNames(), ", "))
	}
	return faults
}

// Time is how long all trials last, if the generator ends on time.
func (o *Options) Time() (all time.Duration) {
	for _, p := range o.chosen() {
		all += (p.lasts(o) + rest + start) * time.Duration(len(o.Connections)*o.Repeats)
	}
	return all
}

// start is how long a generator may need until it sends, and to end.
const start = 700 * time.Millisecond

// PathologyNames are the names of all pathologies.
func PathologyNames() (names []string) {
	for _, p := range Pathologies() {
		names = append(names, p.Name)
	}
	return names
}

// chosen are the pathologies of these options. The steady one always runs: it shows what the generator needs.
func (o *Options) chosen() []Pathology {
	return slices.DeleteFunc(Pathologies(), func(p Pathology) bool {
		return o.Only != nil && p.Name != "steady" && !slices.Contains(o.Only, p.Name)
	})
}

func (o *Options) scaled(d time.Duration) time.Duration {
	if o.Scale == 0 {
		return d
	}
	return time.Duration(float64(d) * o.Scale)
}

// places are what the words of a command may name.
type places struct {
	URL         string
	Host        string
	Port        int
	Rate        string  // a second
	RateEach    string  // a second and connection
	Seconds     float64 // of the run
	Requests    int     // Rate × Seconds
	Connections int
	File        string // path of a file that is read instead of the output
}

// Command is a command whose words have placeholders.
type Command struct {
	words []*template.Template
	texts []string
}

// ParseCommand reads the words.
func ParseCommand(words []string) (c Command, err error) {
	c.texts = words
	for _, word := range words {
		t, err := template.New("word").Option("missingkey=error").Parse(word)
		if err == nil {
			err = t.Execute(&strings.Builder{}, places{})
		}
		if err != nil {
			return c, fmt.Errorf("the word %q of the command: %w; the placeholders are {{.URL}} {{.Host}} {{.Port}} {{.Rate}} {{.RateEach}} {{.Seconds}} {{.Requests}} {{.Connections}} {{.File}}", word, err)
		}
		c.words = append(c.words, t)
	}
	if !slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(w, ".URL") || strings.Contains(w, ".Port")
	}) {
		return c, fmt.Errorf("the command does not name its target; write {{.URL}}, or {{.Host}} and {{.Port}}, where its address belongs")
	}
	return c, nil
}

// Words are the words with placeholders.
func (c Command) Words() []string { return c.texts }

// reads reports whether the command writes what is to be read into a file.
func (c Command) reads() bool {
	return slices.ContainsFunc(c.texts, func(w string) bool { return strings.Contains(w, ".File") })
}

// with are the words for one run.
func (c Command) with(p places) (words []string) {
	for _, t := range c.words {
		var b strings.Builder
		_ = t.Execute(&b, p) // worked before
		words = append(words, b.String())
	}
	return words
}
