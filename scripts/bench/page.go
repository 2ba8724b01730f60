package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/proc"
)

// output is the first match of pattern in what a command prints, on stdout or stderr.
func output(pattern string, command ...string) string {
	out, _ := exec.Command(command[0], command[1:]...).CombinedOutput() // wrk -v ends with exit code 1
	return strings.TrimSpace(regexp.MustCompile(pattern).FindString(string(out)))
}

// intro writes what was measured, and on which machine.
func (b *bench) intro() {
	class := proc.HostClass()
	b.printf("# Benchmarks\n\n`make bench` wrote this page on %s; do not edit it. Unless a section says otherwise, every figure is the median of %d rounds. In each round every variant ran once for %v, in random order. A ratio is the median of the ratios within the rounds. A round in which the hypervisor took more than %.0f %% of the CPU was repeated, and the quietest rounds count. Ratios are comparable between machines; microseconds are not.\n\n",
		time.Now().UTC().Format(time.DateOnly), b.rounds, b.length, 100*mostStolen)
	b.printf("- machine: %v cores, %v, kernel %s, %s\n", class["cores"], class["cpu"], kernel(), runtime.GOARCH)
	b.printf("- takt: %s, %s\n", measured(), runtime.Version())
	if programs["wrk"] != "" {
		b.printf("- wrk: %s\n", output(`wrk [^ ]+`, "wrk", "-v"))
	}
	b.printf("- hey: %s\n", output(`v[0-9.]+`, "go", "list", "-m", "github.com/rakyll/hey"))
	if programs["h2load"] != "" {
		b.printf("- h2load: %s\n", output(`nghttp2/[0-9.]+`, "h2load", "--version"))
	}
	if path := programs["wrk2"]; path != "" {
		b.printf("- wrk2: %s\n", output(`wrk [^ ]+`, path, "-v"))
	}
	b.printf("- nginx: %s\n", output(`nginx/[0-9.]+`, "nginx", "-v"))
	b.printf("- java: %s\n", output(`version .*`, "java", "-version"))
	for _, m := range missing {
		b.printf("- not measured, because it is missing: %s\n", m)
	}
}

// measured is the version of takt under test.
func measured() string { return output(`.*`, programs["takt"], "version") }

func kernel() string { return output(`.*`, "uname", "-r") }

// replace replaces the section of an experiment in the page, or adds it in its order.
func (b *bench) replace(section string) error {
	old, err := os.ReadFile(b.out)
	if err != nil {
		return err
	}
	title, _, _ := strings.Cut(section[1:], "\n")
	before, rest, found := strings.Cut(string(old), "\n"+title+"\n")
	if !found {
		return b.insert(section, string(old))
	}
	end := regexp.MustCompile(`\n##+ `).FindStringIndex(rest)
	if end == nil {
		return fmt.Errorf("no section follows %q in %s; write the whole page with make bench", title, b.out)
	}
	return os.WriteFile(b.out, []byte(before+section+rest[end[0]:]), 0o644)
}

// insert adds the section of an experiment before that of the next experiment that the page has.
func (b *bench) insert(section, old string) error {
	title, _, _ := strings.Cut(section[1:], "\n")
	all := b.experiments()
	i := slices.IndexFunc(all, func(e experiment) bool { return "### "+e.name == title })
	for ; i >= 0 && i < len(all)-1; i++ {
		before, rest, found := strings.Cut(old, "\n### "+all[i+1].name+"\n")
		if found {
			return os.WriteFile(b.out, []byte(before+section+"\n### "+all[i+1].name+"\n"+rest), 0o644)
		}
	}
	return fmt.Errorf("%s has no section %q, and none that follows it; write the whole page with make bench", b.out, title)
}

// profile shows where a saturated loop spends its CPU time.
func (b *bench) profile() error {
	s, err := server{name: "null", pin: serverCore}.start()
	if err != nil {
		return err
	}
	defer s.stop()
	dir, err := os.MkdirTemp("", "takt-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, profile := filepath.Join(dir, "engine.test"), filepath.Join(dir, "cpu")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, "./internal/engine").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	run := exec.Command("taskset", "-c", clientCore, binary, "-test.run", "^$", "-test.bench", "Modes/loop", "-test.benchtime", "1000000x", "-test.cpuprofile", profile)
	run.Env = append(os.Environ(), "TAKT_BENCH_ADDR="+s.addr())
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	top, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount", "25", binary, profile).Output()
	if err != nil {
		return err
	}
	_, table, _ := strings.Cut(string(top), "Duration:")
	b.printf("\n## CPU profile of the saturated loop\n\ntakt sends 1 000 000 requests over 50 connections to the null server, with all recording on.\n\n```text\nDuration:%s```\n", table)
	return nil
}
