// Command bench measures takt beside its peers and writes docs/benchmarks.md. It is
// run by make bench, from the root of the repository.
//
// Every figure is the median of paired rounds: in each round every variant runs once,
// in an order that is shuffled anew, so that what the machine does meanwhile hits all
// of them alike. Ratios travel to other machines, microseconds do not.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

func main() {
	b := &bench{}
	flag.IntVar(&b.rounds, "rounds", 9, "paired rounds")
	flag.DurationVar(&b.length, "time", 2*time.Second, "length of each run")
	flag.StringVar(&b.out, "out", "docs/benchmarks.md", "page to write")
	flag.StringVar(&b.only, "only", "", "run only the experiments whose name contains this, and print them instead")
	flag.IntVar(&b.records, "records", 20_000_000, "records of each run against Kafka; 4000000 are enough to try it")
	flag.BoolVar(&b.renew, "renew", false, "with -only: put their tables into the page, in the place of the old ones")
	gate := flag.Bool("gate", false, "fail when takt is slower or dearer than wrk on the null server, or too large, and write nothing")
	flag.Parse()
	run := b.run
	if *gate {
		run = b.gate
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	rounds    int
	records   int
	length    time.Duration
	out, only string
	renew     bool
	page      strings.Builder
}

func (b *bench) run() error {
	if err := findPeers(); err != nil {
		return err
	}
	b.intro()
	for _, e := range b.experiments() {
		if !strings.Contains(e.name, b.only) {
			continue
		}
		from := b.page.Len()
		if err := b.experiment(e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if b.only != "" && b.renew {
			if err := b.replace(b.page.String()[from:]); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	if b.only != "" {
		return nil
	}
	if err := b.sizes(); err != nil {
		return fmt.Errorf("sizes: %w", err)
	}
	b.commands()
	if err := b.profile(); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return os.WriteFile(b.out, []byte(b.page.String()), 0o644)
}

// gate compares takt with wrk where the client is the bottleneck. It asks for less
// than the page shows, because the machines of CI are busy. And the binary is bounded.
func (b *bench) gate() error {
	const leastRate, mostCPU, mostMiB = 0.95, 1.0, 30
	if err := findPeers(); err != nil {
		return err
	}
	switch size, err := binarySize(); {
	case err != nil:
		return err
	case size > mostMiB:
		return fmt.Errorf("the binary has %.1f MiB (at most %d); go build -ldflags=-dumpdep says what holds what", size, mostMiB)
	}
	if programs["wrk"] == "" {
		return errors.New("there is no wrk; apt-get install wrk")
	}
	e := b.experiments()[0]
	e.variants = e.variants[:2]
	results, err := b.measure(e)
	if err != nil {
		return err
	}
	e.table(b, e, results)
	faster, dearer := ratio(results[0], results[1], rate), ratio(results[0], results[1], cpu)
	if faster < leastRate || dearer > mostCPU {
		return fmt.Errorf("takt makes %.2f x wrk's requests (at least %.2f) for %.2f x its CPU (at most %.2f)", faster, leastRate, dearer, mostCPU)
	}
	return nil
}

// printf writes to the page and shows what was written.
func (b *bench) printf(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	b.page.WriteString(s)
	fmt.Print(s)
}

// experiment prints a table of e.
func (b *bench) experiment(e experiment) error {
	results, err := b.measure(e)
	if err != nil {
		return err
	}
	if b.only != "" {
		e.text += fmt.Sprintf(" Measured by itself on %s, %s.", time.Now().UTC().Format(time.DateOnly), measured())
	}
	b.printf("\n### %s\n\n%s\n\n", e.name, e.text)
	e.table(b, e, results)
	return nil
}

// measure gives the results of each variant of e, by rounds.
func (b *bench) measure(e experiment) ([][]result, error) {
	server, err := e.server.start()
	if err != nil {
		return nil, err
	}
	defer server.stop()
	results := make([][]result, len(e.variants))
	for range cmp.Or(e.rounds, b.rounds) {
		for _, i := range rand.Perm(len(e.variants)) {
			r, err := e.variants[i].run(server, b.length)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.variants[i].name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	return results, nil
}
