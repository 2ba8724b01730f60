//go:build real && linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file start takt fleet by its own manifest on the Slurm of scripts/servers:
// four nodes, all on this host.

// slurm is the cluster, with a takt for its nodes.
type slurm struct {
	commands string // folder of sbatch and the like
	takt     string // folder of takt
}

// nodes is the number of shards: one for each node.
const nodes = 4

func startedSlurm(t *testing.T) *slurm {
	t.Helper()
	commands := os.Getenv("TAKT_SLURM")
	if commands == "" {
		t.Skip("TAKT_SLURM is not set: run by scripts/test-real, which starts Slurm")
	}
	return &slurm{commands, filepath.Dir(built(t))}
}

// command runs a program with this cluster.
func (s *slurm) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.commands, name), args...)
	cmd.Env = append(os.Environ(), "PATH="+s.takt+":"+s.commands+":"+os.Getenv("PATH"))
	return cmd
}

// said is what a program of the cluster prints.
func (s *slurm) said(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := s.command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// fleet prints the script of a fleet that sends a load to a target.
func (s *slurm) fleet(t *testing.T, joinTimeout, url string, load ...string) (script string) {
	t.Helper()
	words := slices.Concat([]string{"fleet", "manifest", "slurm", "--shards", strconv.Itoa(nodes), "--cpus", "1", "--port", freePort(t), "--join-timeout", joinTimeout, "--", "http"}, load, []string{url})
	out, err := exec.Command(filepath.Join(s.takt, "takt"), words...).Output()
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return string(out)
}

// job is a script that Slurm runs.
type job struct {
	*slurm
	id, dir string
}

// submit gives a script to sbatch. Slurm tells the exit code of a job late, so the script writes it.
func (s *slurm) submit(t *testing.T, script string, flags ...string) *job {
	t.Helper()
	dir := t.TempDir()
	end := `exit "$code"`
	if strings.Count(script, end) != 1 {
		t.Fatalf("no line %s in\n%s", end, script)
	}
	script = strings.Replace(script, end, `echo "$code" >ending; mv ending ended; `+end, 1)
	if err := os.WriteFile(filepath.Join(dir, "fleet.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := s.command("sbatch", append(flags, "--parsable", "--output=log", "fleet.sh")...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "XDG_DATA_HOME="+dir, "XDG_STATE_HOME="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, &stderr)
	}
	j := &job{s, strings.TrimSpace(string(out)), dir}
	t.Cleanup(func() { _ = s.command("scancel", j.id).Run() }) // it may have ended
	return j
}

// log is the job's output.
func (j *job) log() string {
	text, _ := os.ReadFile(filepath.Join(j.dir, "log")) // it may not have begun
	return string(text)
}

// end waits for the end of the script, and returns when that was, and the exit code. Slurm must
// have the same one.
func (j *job) end(t *testing.T) (code int, at time.Time) {
	t.Helper()
	path := filepath.Join(j.dir, "ended")
	eventually(t, "the job does not end", j.log, func() bool { _, err := os.Stat(path); return err == nil })
	info, err := os.Stat(path)
	text, unread := os.ReadFile(path)
	if err != nil || unread != nil {
		t.Fatal(err, unread)
	}
	code, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	over := regexp.MustCompile(`JobState=(COMPLETED|FAILED|CANCELLED) `)
	shown := ""
	eventually(t, "the job is not over", func() string { return shown }, func() bool {
		shown = j.said(t, "scontrol", "show", "job", j.id)
		return over.MatchString(shown)
	})
	if want := fmt.Sprintf(" ExitCode=%d:0", code); !strings.Contains(shown, want) && !strings.Contains(shown, "CANCELLED") {
		t.Errorf("Slurm does not have%s: %s", want, shown)
	}
	return code, info.ModTime()
}

// report is a report of the job, in a file.
func (j *job) report(t *testing.T, name string) (r *takt.Report) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, name))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, j.log())
	}
	return r
}

// shard is the process of a task, and the name of its shard.
func (j *job) shard(t *testing.T, task int) (pid int, name string) {
	t.Helper()
	said := regexp.MustCompile(fmt.Sprintf(`(?m)^%d: takt shard: this is shard (\d/%d) `, task, nodes)).FindStringSubmatch(j.log())
	if said == nil {
		t.Fatalf("task %d has not said which shard it is\n%s", task, j.log())
	}
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		words, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // it may have ended
		program, rest, _ := bytes.Cut(words, []byte{0})
		variables, _ := os.ReadFile(path)
		is := func(v string) bool { return bytes.Contains(variables, []byte(v+"\x00")) }
		if filepath.Base(string(program)) == "takt" && bytes.HasPrefix(rest, []byte("shard\x00")) && is("SLURM_JOB_ID="+j.id) && is(fmt.Sprintf("SLURM_PROCID=%d", task)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			return pid, said[1]
		}
	}
	t.Fatalf("no process is task %d\n%s", task, j.log())
	return 0, ""
}

// eventually waits for a condition.
func eventually(t *testing.T, fault string, context func() string, met func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !met(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s\n%s", fault, context())
		}
	}
}

// serving is a target, with what of it a fault of the job does not excuse.
func serving(t *testing.T) *target.Server { return targettest.Serve(t, target.Options{}) }

// each lets each shard run a script first, which can set its environment.
func each(script, first string) string {
	return strings.Replace(script, "  takt shard ", "  bash -c '"+first+"; exec takt \"$@\"' - shard ", 1)
}

// The first run measures, so nothing else runs then: scripts/test-real runs it alone, and the others beside other
// suites.
func TestRealSlurm(t *testing.T) {
	s := startedSlurm(t)
	t.Run("run", s.run)
	t.Run("others", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"wait":    s.wait,
			"tasks":   func(t *testing.T) { s.auto(t, "#SBATCH --ntasks=4\nsrun ", "SLURM_PROCID") },
			"array":   func(t *testing.T) { s.auto(t, "#SBATCH --array=5-8\n", "SLURM_ARRAY_TASK_ID") },
			"killed":  func(t *testing.T) { s.lost(t, syscall.SIGKILL, "its process ended, or closed the connection") },
			"evicted": func(t *testing.T) { s.lost(t, syscall.SIGTERM, "SIGTERM") },
			"job":     func(t *testing.T) { s.cancelled(t) },
			"limit":   func(t *testing.T) { s.cancelled(t, "--batch", "--signal=TERM") },
			"seed":    func(t *testing.T) { s.refused(t, "export TAKT_SEED=7", "seed is ") },
			"version": func(t *testing.T) { s.refused(t, `PATH="`+otherVersion(t)+`:$PATH"`, "v0.0.1-other") },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}

// run compares a run with what arrived, and with the shards' own reports.
func (s *slurm) run(t *testing.T) {
	clocktest.Wants(t, func(*clocktest.Sleepers) []string {
		const rate, count = 400, 1600
		server := serving(t)
		script := each(s.fleet(t, "20s", server.URL(), "--rate", "400/s", "-z", "4s", "-o", "json=whole.json"), `export TAKT_OUTPUT="json=$SLURM_PROCID.json"`)
		j := s.submit(t, script)
		if code, _ := j.end(t); code != 0 {
			t.Fatalf("exit code %d\n%s", code, j.log())
		}
		truth, whole := server.Truth(), j.report(t, "whole.json")
		if truth.Counts.Requests != count || whole.Counts.OK != count || *whole.Rate.Intended != rate {
			t.Errorf("%d requests arrived, %d of %v/s are in the report; want %d of %d/s\n%s", truth.Counts.Requests, whole.Counts.OK, *whole.Rate.Intended, count, rate, j.log())
		}
		j.addsUp(t, whole)
		return punctual(truth, rate)
	})
}

// addsUp compares the histograms of the whole with those of the shards.
func (j *job) addsUp(t *testing.T, whole *takt.Report) {
	t.Helper()
	sum := map[string]*hist.Histogram{}
	for task := range nodes {
		for name, l := range j.report(t, fmt.Sprintf("%d.json", task)).Latency {
			if sum[name] == nil {
				sum[name] = hist.New()
			}
			if err := sum[name].MergeEncoded(l.HDR); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(sum) == 0 || !slices.Equal(slices.Sorted(maps.Keys(sum)), slices.Sorted(maps.Keys(whole.Latency))) {
		t.Fatalf("the shards have other histograms than the whole: %v and %v", slices.Sorted(maps.Keys(sum)), slices.Sorted(maps.Keys(whole.Latency)))
	}
	for name, h := range sum {
		if whole.Latency[name].HDR != h.Encode() {
			t.Errorf("the histogram %s of the whole is not the sum of the shards'", name)
		}
	}
}

// punctual compares arrivals with the schedule, whose origin is unknown: it is where most
// arrivals fit.
func punctual(truth *target.Truth, rate float64) (faults []string) {
	off := make([]float64, len(truth.Records))
	for i, r := range truth.Records {
		off[i] = r.Arrival.Seconds() - float64(i)/rate
	}
	median := slices.Sorted(slices.Values(off))[len(off)/2]
	late := 0
	for _, o := range off {
		if math.Abs(o-median) > 0.002 {
			late++
		}
	}
	if most := len(off) / 100; late > most {
		faults = append(faults, fmt.Sprintf("%d of %d requests arrived more than 2 ms off the schedule; want %d at most", late, len(off), most))
	}
	return faults
}

// wait is a run that --abort-on ends: sbatch --wait exits with the code of the run. The shards get
// the token though sbatch does not export the environment, and odd words are only words.
func (s *slurm) wait(t *testing.T) {
	server := serving(t)
	script := s.fleet(t, "20s", server.URL(), "--rate", "400/s", "-z", "60s", "--abort-on", "ok>0", "-H", `X-Odd: $(touch odd) "it's"`, "-d", "a\r\n#SBATCH --odd\n")
	path := filepath.Join(t.TempDir(), "fleet.sh")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := s.command("sbatch", "--wait", "--export=PATH,HOME", path)
	cmd.Env = append(cmd.Env, "HOME="+filepath.Dir(path))
	cmd.Dir = filepath.Dir(path)
	out, _ := cmd.CombinedOutput() // its exit code is what is asked for
	log, err := filepath.Glob(filepath.Join(cmd.Dir, "takt-*.log"))
	if err != nil || len(log) != 1 {
		t.Fatalf("the logs are %v: %v\n%s", log, err, out)
	}
	text, err := os.ReadFile(log[0])
	if err != nil {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != aborted(text) || server.Truth().Counts.Requests < 400 {
		t.Errorf("exit code %d, %d requests; want %d, and 400 or more\n%s%s", code, server.Truth().Counts.Requests, aborted(text), out, text)
	}
	if token := regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(text)); token != "" {
		t.Errorf("the log has a token: %s", text)
	}
}

// auto makes a run without a gatherer: --shard auto takes the number of the task, and the group of
// the shards is the job.
func (s *slurm) auto(t *testing.T, start, number string) {
	server, dir := serving(t), t.TempDir()
	script := fmt.Sprintf("#!/bin/bash\n%sbash -c 'takt http --rate 400/s -z 2s --shard auto --start-at %d --no-store -o json=$%s.json %s'\n",
		start, time.Now().Add(8*time.Second).Unix(), number, server.URL())
	if err := os.WriteFile(filepath.Join(dir, "shards.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	id := s.said(t, "sbatch", "--parsable", "--chdir", dir, "--output=log", "--open-mode=append", filepath.Join(dir, "shards.sh"))
	j := &job{s, id, dir}
	eventually(t, "the job does not end", j.log, func() bool { return s.said(t, "squeue", "--noheader", "--jobs", id) == "" })
	merge := exec.Command(filepath.Join(s.takt, "takt"), "merge", "-o", "json", dir)
	out, err := merge.Output()
	var whole takt.Report
	if err == nil {
		err = json.Unmarshal(out, &whole)
	}
	if err != nil {
		t.Fatalf("takt merge: %v\n%s%s", err, out, j.log())
	}
	if n := server.Truth().Counts.Requests; n != 800 || whole.Counts.OK != 800 || whole.Schedule.RunGroup != id {
		t.Errorf("%d requests arrived, %d in the report of group %q; want 800, and %s", n, whole.Counts.OK, whole.Schedule.RunGroup, id)
	}
}

// aborted is the exit code of a run that --abort-on ended: 3, but on a noisy machine that of an
// invalid run.
func aborted(said []byte) int {
	if bytes.Contains(said, []byte("INVALID RUN")) {
		return 6
	}
	return 3
}

// lost ends one shard by a signal: the fleet ends, its report is that of an invalid run, and names
// the shard. The intended rate is still that of the schedule.
func (s *slurm) lost(t *testing.T, signal syscall.Signal, why string) {
	j := s.loading(t)
	pid, shard := j.shard(t, 2)
	begun := time.Now()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
	code, at := j.end(t)
	t.Logf("the job ended %v later", at.Sub(begun))
	if code != 1 || at.Sub(begun) > 10*time.Second {
		t.Errorf("exit code %d after %v; want 1 soon", code, at.Sub(begun))
	}
	if said, want := j.log(), "shard "+shard+" ("; !strings.Contains(said, want) || !strings.Contains(said, why) {
		t.Errorf("the log does not name %s and %q:\n%s", want, why, said)
	}
	if r := j.report(t, "whole.json"); r.Verdict != takt.Invalid || math.Abs(*r.Rate.Intended-400) > 8 {
		t.Errorf("verdict %s, intended rate %v; want invalid, and 400\n%s", r.Verdict, *r.Rate.Intended, j.log())
	}
}

// cancelled ends the job by scancel, or the script alone, as Slurm does before the time limit: the
// gatherer reports what was sent.
func (s *slurm) cancelled(t *testing.T, flags ...string) {
	j := s.loading(t)
	j.said(t, "scancel", append(flags, j.id)...)
	code, _ := j.end(t)
	if r := j.report(t, "whole.json"); code != 143 || r.Counts.OK < 1000 || !slices.ContainsFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == "cancelled" }) {
		t.Errorf("exit code %d, %d requests, warnings %v; want 143, and a report that says cancelled\n%s", code, r.Counts.OK, r.Warnings, j.log())
	}
}

// loading is a job in the middle of a load of a minute.
func (s *slurm) loading(t *testing.T) *job {
	t.Helper()
	server := serving(t)
	j := s.submit(t, s.fleet(t, "20s", server.URL(), "--rate", "400/s", "-z", "60s", "-o", "json=whole.json"))
	eventually(t, "no load is sent", j.log, func() bool { return server.Truth().Counts.Requests > 1000 })
	return j
}

// refused has one shard that would send another load, or is another takt: the fleet does not begin.
func (s *slurm) refused(t *testing.T, odd, why string) {
	server := serving(t)
	script := each(s.fleet(t, "5s", server.URL(), "--rate", "400/s", "-z", "2s"), `if [ "$SLURM_PROCID" = 2 ]; then `+odd+`; fi`)
	j := s.submit(t, script)
	if code, _ := j.end(t); code != 1 || !strings.Contains(j.log(), why) {
		t.Errorf("exit code %d; want 1, and %q in\n%s", code, why, j.log())
	}
	if n := server.Truth().Counts.Requests; n != 0 {
		t.Errorf("%d requests arrived; want none", n)
	}
}

// otherVersion builds another version of takt, and returns its folder.
func otherVersion(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	flags := "-X github.com/taktload/takt/internal/cli/core.Version=v0.0.1-other"
	if out, err := exec.Command("go", "build", "-ldflags", flags, "-o", filepath.Join(folder, "takt"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return folder
}
