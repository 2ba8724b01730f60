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
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/proc"
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
		if err := b.section(func() error { return b.experiment(e) }); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if b.only != "" && b.renew {
		return b.section(func() error { b.commands(); return nil })
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
	const leastRate, mostCPU, mostMiB = 0.95, 1.0, 32
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
	results, stolen, err := b.measure(e)
	if err != nil {
		return err
	}
	e.table(b, e, results)
	faster, dearer := ratio(results[0], results[1], rate), ratio(results[0], results[1], cpu)
	if faster >= leastRate && dearer <= mostCPU {
		return nil
	}
	fault := fmt.Errorf("takt makes %.2f x wrk's requests (at least %.2f) for %.2f x its CPU (at most %.2f)", faster, leastRate, dearer, mostCPU)
	if stolen > 2*mostStolen {
		fmt.Printf("NOT JUDGED: %v; but the hypervisor took %.0f %% of the CPU away\n", fault, 100*stolen)
		return nil
	}
	return fault
}

// section prints one, and with -only and -renew puts it into the page.
func (b *bench) section(print func() error) error {
	from := b.page.Len()
	if err := print(); err != nil || b.only == "" || !b.renew {
		return err
	}
	return b.replace(b.page.String()[from:])
}

// printf writes to the page and shows what was written.
func (b *bench) printf(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	b.page.WriteString(s)
	fmt.Print(s)
}

// experiment prints a table of e.
func (b *bench) experiment(e experiment) error {
	results, stolen, err := b.measure(e)
	if err != nil {
		return err
	}
	if stolen > mostStolen {
		e.text += fmt.Sprintf(" The hypervisor took %.0f %% of the CPU away.", 100*stolen)
	}
	if b.only != "" {
		e.text += fmt.Sprintf(" Measured by itself on %s, kernel %s, %s.", time.Now().UTC().Format(time.DateOnly), kernel(), measured())
	}
	b.printf("\n### %s\n\n%s\n\n", e.name, e.text)
	e.table(b, e, results)
	return nil
}

// round is one run of each variant.
type round struct {
	results []result
	stolen  float64 // the share of the CPU that the hypervisor took away meanwhile
}

// mostStolen is what may be stolen in a round that counts.
const mostStolen = 0.05

// measure gives the results of each variant of e, by rounds, and what was stolen in the
// median one. Rounds in which more was stolen than may be are made again, each once at most;
// those count then in which it was least.
func (b *bench) measure(e experiment) (results [][]result, stolen float64, err error) {
	server, err := e.server.start()
	if err != nil {
		return nil, 0, err
	}
	defer server.stop()
	want, most := e.rounds, e.rounds
	if want == 0 {
		want, most = b.rounds, 2*b.rounds
	}
	var rounds []round
	for quiet := 0; quiet < want && len(rounds) < most; {
		before := proc.Self()
		r := round{results: make([]result, len(e.variants))}
		for _, i := range rand.Perm(len(e.variants)) {
			if r.results[i], err = e.variants[i].run(server, b.length); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", e.variants[i].name, err)
			}
		}
		used := proc.Self().Since(before)
		r.stolen = used.Share(used.Steal)
		if rounds = append(rounds, r); r.stolen <= mostStolen {
			quiet++
		}
	}
	slices.SortStableFunc(rounds, func(a, b round) int { return cmp.Compare(a.stolen, b.stolen) })
	results = make([][]result, len(e.variants))
	for _, r := range rounds[:want] {
		for i := range results {
			results[i] = append(results[i], r.results[i])
		}
	}
	return results, rounds[want/2].stolen, nil
}
