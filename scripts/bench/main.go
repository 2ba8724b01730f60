// Command bench compares takt with its peers and writes docs/benchmarks.md. make bench runs it from
// the root of the repository.
//
// Every figure is the median of paired rounds. In each round every variant runs once, in a new random
// order, so disturbances of the machine hit all variants alike. Ratios are comparable between
// machines; microseconds are not.
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
	flag.StringVar(&b.only, "only", "", "run only the experiment of this name, or those whose name contains this, and print them instead")
	flag.IntVar(&b.records, "records", 20_000_000, "records of each run against Kafka; 4000000 are enough for a trial")
	flag.BoolVar(&b.renew, "renew", false, "with -only: replace their tables in the page")
	gate := flag.Bool("gate", false, "write nothing; fail when takt is slower than wrk on the null server, needs more CPU, or is too large")
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
	all := b.experiments()
	one := slices.ContainsFunc(all, func(e experiment) bool { return e.name == b.only })
	for _, e := range all {
		if one && e.name != b.only || !strings.Contains(e.name, b.only) {
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

// gate compares takt with wrk where the client is the bottleneck, and limits the size of the binary.
// It demands less than the page shows, because the machines of CI are busy.
func (b *bench) gate() error {
	const leastRate, mostCPU, mostMiB = 0.95, 1.0, 46
	if err := findPeers(); err != nil {
		return err
	}
	switch size, err := binarySize(); {
	case err != nil:
		return err
	case size > mostMiB:
		return fmt.Errorf("the binary has %.1f MiB (at most %d); go build -ldflags=-dumpdep shows why each symbol is linked", size, mostMiB)
	}
	if programs["wrk"] == "" {
		return errors.New("wrk is not installed; apt-get install wrk")
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
	fault := fmt.Errorf("takt sends %.2f x wrk's requests (at least %.2f) with %.2f x its CPU per request (at most %.2f)", faster, leastRate, dearer, mostCPU)
	if stolen > 2*mostStolen {
		fmt.Printf("NOT JUDGED: %v; but the hypervisor took %.0f %% of the CPU\n", fault, 100*stolen)
		return nil
	}
	return fault
}

// section prints a section, and with -only and -renew replaces it in the page.
func (b *bench) section(print func() error) error {
	from := b.page.Len()
	if err := print(); err != nil || b.only == "" || !b.renew {
		return err
	}
	return b.replace(b.page.String()[from:])
}

// printf writes to the page and to standard output.
func (b *bench) printf(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	b.page.WriteString(s)
	fmt.Print(s)
}

// experiment runs e and prints its table.
func (b *bench) experiment(e experiment) error {
	results, stolen, err := b.measure(e)
	if err != nil {
		return err
	}
	if stolen > mostStolen {
		e.text += fmt.Sprintf(" The hypervisor took %.0f %% of the CPU.", 100*stolen)
	}
	if b.only != "" {
		e.text += fmt.Sprintf(" Measured separately on %s, with kernel %s and %s.", time.Now().UTC().Format(time.DateOnly), kernel(), measured())
	}
	b.printf("\n### %s\n\n%s\n\n", e.name, e.text)
	e.table(b, e, results)
	return nil
}

// round is one run of each variant.
type round struct {
	results []result
	stolen  float64 // share of the CPU that the hypervisor took during the round
}

// mostStolen is the largest stolen share of a quiet round.
const mostStolen = 0.05

// measure returns the results of each variant of e by rounds, and the stolen share of the median
// round. It repeats rounds that are not quiet, up to twice as many in all; then the quietest count.
// Experiments with their own number of rounds (Kafka, JMS) are not repeated.
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
			busy := server.cpu()
			if r.results[i], err = e.variants[i].run(server, b.length); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", e.variants[i].name, err)
			}
			r.results[i].broker = (server.cpu() - busy) / time.Duration(max(1, e.count))
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
