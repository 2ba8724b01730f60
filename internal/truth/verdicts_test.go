package truth_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/pkg/takt"
)

// A verdictCase is a run whose bottleneck is known: the generator, on core 1, or the target, on
// core 0. The bottleneck is the side that is disturbed or overloaded.
type verdictCase struct {
	name    string
	bound   bool          // the generator is the bottleneck; else the target
	service time.Duration // the target's service time
	calm    time.Duration // the mean service time of a broker that nothing disturbs
	waiting int           // handshakes that come at once after a stop
	shake   time.Duration // what the side that was not stopped needs for a handshake
	broker  string        // kafka or artemis as scripts/servers starts them; else takt target serves
	target  []string      // flags of takt target
	args    []string      // flags of takt http, or of the broker's command
	shell   string        // shell commands before takt starts in the same shell
	ports   string        // the range of local ports, in a network namespace of takt and its target
	quota   int           // per cent of a core for takt; 0: no limit
	hogs    int           // busy loops on takt's core, or on the target's
	stop    time.Duration // how long takt or the target is stopped, 1 s after the start of takt
	limit   bool          // operations fail at a limit, so the generator's share is not compared
	shakes  bool          // both sides compute for each operation, or for the first ones: handshakes
	served  time.Duration // CPU time of a target that shakes hands, after the run
}

const hold = time.Second // from the start of takt to the stop of a process

// TestVerdicts makes runs whose bottleneck is known, and prints a table of takt's verdicts. It needs
// two idle cores and a quarter of an hour. TAKT_VERDICTS=1 runs all cases; another value runs those
// whose names begin with it. Rows of a broker need what scripts/servers start printed for it, in
// TAKT_KAFKA or TAKT_ARTEMIS.
func TestVerdicts(t *testing.T) {
	if os.Getenv("TAKT_VERDICTS") == "" {
		t.Skip("runs with a known bottleneck, a quarter of an hour on a quiet machine: TAKT_VERDICTS=1")
	}
	judged, wrong, off, noisy := 0, 0, 0, 0
	for i, c := range verdictCases() {
		if only := os.Getenv("TAKT_VERDICTS"); only != "1" && !strings.HasPrefix(c.name, only) {
			continue
		}
		var r *takt.Report
		noise := ""
		if c.broker != "" || c.waiting > 0 {
			calm := c
			calm.bound, calm.stop, calm.quota, calm.hogs = false, 0, 0, 0
			r, _ = calm.run(t)
			c.calm = time.Duration(r.Latency[takt.LatencyService].Mean * 1e3)
			c.shake = time.Duration(r.Latency["client_dial"].P50 * 1e3)
			if c.bound { // the target's part of connecting
				c.shake = time.Duration((r.Latency["connect"].P50+r.Latency["tls"].P50)*1e3) - c.shake
			}
		}
		for range 3 {
			if r, noise = c.run(t); noise == "" {
				break
			}
		}
		want := takt.Valid
		if c.bound {
			want = takt.Invalid
		}
		p := r.Attribution.Whole()
		got, injected := p.Generator()/max(1e-12, p.Total()), c.injected(r)
		low, high := c.burst(r, injected)
		line := fmt.Sprintf("%3d %-44s %-7s generator %5.1f %%, injected %5.1f %% (%.1f to %.1f), %s", i+1, c.name, r.Verdict, 100*got, 100*injected, 100*low, 100*high, codes(r))
		switch {
		case noise != "":
			noisy++
			t.Logf("%s: not judged, %s", line, noise)
			continue
		case r.Verdict != want:
			wrong++
			t.Errorf("%s: WRONG, want %s", line, want)
		case !c.limit && max(got-high, low-got) > 0.1:
			off++
			t.Errorf("%s: OFF by %.0f points", line, 100*(got-injected))
		default:
			t.Log(line)
		}
		judged++
	}
	t.Logf("%d judged, %d wrong verdicts, %d shares off by more than 10 points, %d not judged in noise", judged, wrong, off, noisy)
}

// injected is the generator's true share of the response time: all but one service time of the
// target for each operation, and what takt computes in handshakes.
func (c *verdictCase) injected(r *takt.Report) float64 {
	all := r.Latency[takt.LatencyResponse]
	total := max(1e-12, all.Mean*float64(all.Count)/1e6)
	switch {
	case !c.bound && c.shakes:
		return min(1, r.Generator.CPUS/total)
	case !c.bound:
		return 0
	}
	service := c.service + 60*time.Microsecond
	if c.broker != "" {
		service = c.calm
	}
	return max(0, 1-(float64(r.Counts.Sent)*service.Seconds()+c.computed(r))/total)
}

// computed is the response time that a target spends on handshakes: its CPU time, and after a stop of
// takt the waits of those that came at once for one another.
func (c *verdictCase) computed(r *takt.Report) float64 {
	if !c.shakes {
		return 0
	}
	atOnce := *r.Rate.Intended * c.stop.Seconds()
	return c.served.Seconds() * (1 + atOnce*atOnce/2/float64(r.Counts.Sent))
}

// burst returns the least and the largest share of the generator if handshakes waited for the end of a stop.
// They come at once, so they wait for one another: those that a frozen target held wait for the generator,
// and those that a frozen generator held wait for the target. Each waits for half of the others at most.
func (c *verdictCase) burst(r *takt.Report, injected float64) (low, high float64) {
	all := r.Latency[takt.LatencyResponse]
	part := float64(c.waiting*c.waiting) / 2 * c.shake.Seconds() / max(1e-12, all.Mean*float64(all.Count)/1e6)
	if c.bound {
		return max(0, injected-part), injected
	}
	return injected, min(1, injected+part)
}

func codes(r *takt.Report) string {
	var all []string
	for _, w := range r.Warnings {
		all = append(all, string(w.Code))
	}
	return strings.Join(all, " ")
}

func verdictCases() (all []verdictCase) {
	modes := []struct {
		name         string
		args, target []string
	}{
		{"loop", []string{"--engine", "loop"}, nil}, {"worker", []string{"--engine", "worker"}, nil},
		{"net", []string{"--client", "net"}, nil}, {"TLS", []string{"--insecure"}, []string{"--tls"}},
	}
	rate := func(n int, more ...string) []string {
		return append([]string{"--rate", strconv.Itoa(n), "-z", "3s", "--drain", "20s"}, more...)
	}
	ms := func(n int) []string { return []string{"--service", fmt.Sprint(n, "ms")} }
	for _, m := range modes {
		add := func(c verdictCase) {
			c.name, c.args, c.target = m.name+": "+c.name, slices.Concat(m.args, c.args), slices.Concat(c.target, m.target)
			c.shakes = m.name == "TLS" && c.stop > 0 && strings.HasSuffix(c.name, "growing pool") // many at once
			all = append(all, c)
		}
		// By the generator.
		for _, s := range []int{200, 500} {
			for _, n := range []string{"8", "60"} {
				add(verdictCase{name: fmt.Sprintf("takt stopped %d ms, %s connections", s, n), bound: true, service: time.Millisecond, target: ms(1),
					args: rate(1000, "-c", n), stop: time.Duration(s) * time.Millisecond})
			}
		}
		add(verdictCase{name: "takt stopped 300 ms, growing pool", bound: true, service: time.Millisecond, target: ms(1), args: rate(1000), stop: 300 * time.Millisecond})
		add(verdictCase{name: "quota of 3 % of a core", bound: true, service: time.Millisecond, target: ms(1), args: rate(1000, "-c", "20"), quota: 3})
		add(verdictCase{name: "quota of 5 % of a core", bound: true, service: time.Millisecond, target: ms(1), args: rate(3000, "-c", "20"), quota: 5})
		add(verdictCase{name: "eight busy loops on its core", bound: true, service: time.Millisecond, target: ms(1), args: rate(5000, "-c", "20"), hogs: 8})
		add(verdictCase{name: "eight busy loops, growing pool", bound: true, service: time.Millisecond, target: ms(1), args: rate(5000), hogs: 8})
		if m.name == "TLS" { // takt target has no --null over TLS
			add(verdictCase{name: "eight busy loops, 60 connections", bound: true, service: time.Millisecond, target: ms(1), args: rate(5000, "-c", "60"), hogs: 8})
			add(verdictCase{name: "takt stopped 300 ms, 20 connections", bound: true, service: time.Millisecond, target: ms(1), args: rate(1000, "-c", "20"), stop: 300 * time.Millisecond})
		} else {
			add(verdictCase{name: "more than it can, 50 connections", bound: true, target: []string{"--null"}, args: []string{"--rate", "400000", "-z", "1s", "--drain", "1s", "-c", "50"}})
			add(verdictCase{name: "more than it can, 400 connections", bound: true, target: []string{"--null"}, args: []string{"--rate", "400000", "-z", "1s", "--drain", "1s", "-c", "400"}})
		}
		add(verdictCase{name: "64 open files", bound: true, limit: true, service: 50 * time.Millisecond, target: ms(50), args: rate(3000), shell: "ulimit -n 64"})
		add(verdictCase{name: "40 open files", bound: true, limit: true, service: 20 * time.Millisecond, target: ms(20), args: rate(3000), shell: "ulimit -n 40"})
		add(verdictCase{name: "stopped, dropping", bound: true, limit: true, service: time.Millisecond, target: ms(1), args: rate(1000, "-c", "8", "--overflow", "drop"), stop: 300 * time.Millisecond})
		add(verdictCase{name: "stopped, Poisson arrivals", bound: true, service: 3 * time.Millisecond, target: ms(3), args: rate(1000, "-c", "20", "--arrivals", "poisson"), stop: 300 * time.Millisecond})
		// By the target.
		add(verdictCase{name: "4 servers at 1.5 of what they can", target: []string{"--service", "2ms", "--servers", "4"}, args: rate(3000, "-c", "50")})
		add(verdictCase{name: "4 servers, growing pool", target: []string{"--service", "2ms", "--servers", "4"}, args: rate(2500)})
		add(verdictCase{name: "1 server at 0.95 of what it can", target: []string{"--service", "exp(2ms)", "--servers", "1"}, args: rate(475, "-c", "50", "--arrivals", "poisson")})
		add(verdictCase{name: "too few connections", target: ms(10), args: rate(1000, "-c", "8")})
		add(verdictCase{name: "one connection", target: ms(5), args: rate(400, "-c", "1")})
		add(verdictCase{name: "freezes of 500 ms, 20 connections", target: []string{"--service", "1ms", "--freeze", "500ms/1s"}, args: rate(1000, "-c", "20")})
		if m.name != "TLS" { // 300 handshakes at once keep takt's core busy for as long as a freeze, so takt is a bottleneck, too
			add(verdictCase{name: "freezes of 300 ms, growing pool", target: []string{"--service", "1ms", "--freeze", "300ms/1s"}, args: rate(1000)})
		}
		add(verdictCase{name: "target stopped 300 ms, 20 connections", target: ms(1), args: rate(1000, "-c", "20"), stop: 300 * time.Millisecond})
		add(verdictCase{name: "target stopped 500 ms, growing pool", target: ms(1), args: rate(1000), stop: 500 * time.Millisecond})
		add(verdictCase{name: "eight busy loops on the target's core", target: ms(1), args: rate(500, "-c", "20"), hogs: 8})
		add(verdictCase{name: "a long tail", target: []string{"--service", "lognormal(2ms,1)"}, args: rate(1000, "-c", "50")})
		add(verdictCase{name: "answers never come", target: []string{"--service", "1ms", "--half-open-rate", "5%"}, args: rate(500, "-c", "50", "--timeout", "300ms")})
		add(verdictCase{name: "resets", target: []string{"--service", "1ms", "--reset-rate", "10%"}, args: rate(500, "-c", "20")})
		add(verdictCase{name: "errors", target: []string{"--service", "1ms", "--error-rate", "50%"}, args: rate(500, "-c", "20")})
		add(verdictCase{name: "drops at the bound", target: ms(20), args: rate(1000, "-c", "8", "--overflow", "drop")})
	}
	for _, m := range modes {
		for _, ports := range []string{"60000 60015", "60000 60039"} {
			all = append(all, verdictCase{name: m.name + ": ports " + ports, bound: true, limit: true, target: slices.Concat(ms(50), m.target),
				args: slices.Concat(m.args, rate(3000)), ports: ports})
		}
	}
	return slices.Concat(all, handshakeCases(), brokerCases())
}

// handshakeCases are runs in which each operation has a handshake, or over HTTP/2 the first ones.
func handshakeCases() (all []verdictCase) {
	const ms = time.Millisecond
	for _, m := range []struct {
		name string
		args []string
	}{
		{"loop", []string{"--engine", "loop", "--disable-keepalive"}}, {"worker", []string{"--engine", "worker", "--disable-keepalive"}},
		{"net", []string{"--client", "net", "--disable-keepalive"}}, {"h2", []string{"--h2"}},
	} {
		add := func(name string, c verdictCase, args ...string) {
			c.name, c.service, c.shakes = "handshakes, "+m.name+": "+name, 2*ms, true
			c.target = append([]string{"--tls", "--h2", "--service", "2ms"}, c.target...)
			c.args = slices.Concat(m.args, []string{"--insecure", "--drain", "60s"}, args)
			all = append(all, c)
		}
		steady := []string{"--rate", "200", "-z", "3s"}
		add("nothing", verdictCase{}, steady...)
		waiting := func(stop time.Duration) int { // of the 200/s
			if m.name == "h2" {
				return 0
			}
			return int(200 * stop / time.Second)
		}
		add("target stopped 600 ms", verdictCase{stop: 600 * ms, waiting: waiting(600 * ms)}, steady...)
		add("takt stopped 300 ms", verdictCase{bound: true, stop: 300 * ms, waiting: waiting(300 * ms)}, steady...)
		if m.name == "h2" { // a request over a connection that is there needs hardly any CPU
			continue
		}
		for _, percent := range []int{5, 10, 15, 20} {
			add(fmt.Sprintf("quota of %d %% of a core", percent), verdictCase{bound: true, quota: percent}, "--rate", "400", "-z", "3s", "--timeout", "60s", "--connect-timeout", "60s")
		}
		add("a burst and a quota of 15 % of a core", verdictCase{bound: true, quota: 15}, "--stages", "3s@400/s,14s@5/s", "--timeout", "60s", "--connect-timeout", "60s")
	}
	return all
}

// brokerCases are runs against brokers.
func brokerCases() (all []verdictCase) {
	for _, b := range []struct {
		name, server string
		args         []string
		most         string // a rate above what the broker can accept, so takt waits for acknowledgements
	}{
		{"kafka", "kafka", []string{"--create-topic", "--message-batch-size", "50"}, "2000000"},
		{"jms", "artemis", []string{"--max-pending", "100"}, "400000"},
	} {
		if os.Getenv("TAKT_"+strings.ToUpper(b.server)) == "" {
			continue
		}
		add := func(c verdictCase, rate string, more ...string) {
			c.name, c.broker = b.name+": "+c.name, b.server
			c.args = slices.Concat(b.args, []string{"--rate", rate, "--duration", "3s", "--drain", "20s"}, more)
			all = append(all, c)
		}
		for _, ms := range []time.Duration{200, 300, 500} {
			add(verdictCase{name: fmt.Sprintf("takt stopped %d ms", ms), bound: true, stop: ms * time.Millisecond}, "1000")
		}
		add(verdictCase{name: "takt stopped 300 ms, Poisson arrivals", bound: true, stop: 300 * time.Millisecond}, "1000", "--arrivals", "poisson")
		add(verdictCase{name: "quota of 5 % of a core", bound: true, quota: 5}, "3000")
		add(verdictCase{name: "eight busy loops on its core", bound: true, hogs: 8}, "5000")
		add(verdictCase{name: "more than it can take", limit: true}, b.most, "--duration", "1s", "--drain", "1s")
		for _, ms := range []time.Duration{200, 300, 500} {
			add(verdictCase{name: fmt.Sprintf("broker stopped %d ms", ms), stop: ms * time.Millisecond}, "1000")
		}
		add(verdictCase{name: "broker stopped 300 ms, Poisson arrivals", stop: 300 * time.Millisecond}, "1000", "--arrivals", "poisson")
		add(verdictCase{name: "eight busy loops on the broker's core", hogs: 8}, "500")
		add(verdictCase{name: "large messages"}, "500", "--message-size", "20000")
	}
	return all
}

// run runs the case. noise says why it cannot be judged: sleeps on the other core ended late.
func (c *verdictCase) run(t *testing.T) (r *takt.Report, noise string) {
	t.Helper()
	load, server := c.serve(t)
	defer func() {
		if server.end(); c.shakes {
			c.served = server.of.ProcessState.UserTime() + server.of.ProcessState.SystemTime()
		}
	}()
	runCore, targetCore := "1", "0"
	words := []string{"exec", "taskset", "-c", runCore, binary(t)}
	if c.ports != "" {
		words = slices.Concat([]string{"exec", "nsenter", "--net", "--target", strconv.Itoa(server.Pid)}, words[1:])
	}
	words = slices.Concat(words, load, []string{"--no-store", "--progress", "none", "-o", "json"}, c.args)
	cmd := exec.Command("sh", "-c", c.shell+"\n"+strings.Join(words, " "))
	out, err := os.CreateTemp(t.TempDir(), "report")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = out
	hogCore, calm := targetCore, 1
	if c.bound {
		hogCore, calm = runCore, 0
	}
	for range c.hogs {
		hog := exec.Command("taskset", "-c", hogCore, "sh", "-c", "while :; do :; done")
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		defer process{hog.Process, hog}.end()
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if c.quota > 0 {
		defer throttle(t, cmd.Process.Pid, c.quota)()
	}
	watched := clocktest.Watch(t, calm)
	if c.stop > 0 {
		victim := server.Process
		if c.bound {
			victim = cmd.Process
		}
		time.Sleep(hold)
		_ = victim.Signal(syscall.SIGSTOP)
		time.Sleep(c.stop)
		_ = victim.Signal(syscall.SIGCONT)
	}
	_ = cmd.Wait() // runs at a limit may end with exit code 1
	if noise = watched(); c.broker != "" && c.bound {
		noise = "" // the broker itself keeps that core busy
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	r = new(takt.Report)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatalf("%s: %v\n%s", c.name, err, text)
	}
	return r, noise
}

// process is a server or a busy loop. Its case ends it if the case started it.
type process struct {
	*os.Process
	of *exec.Cmd // nil: end leaves it running
}

func (s process) end() {
	if s.of != nil {
		_ = s.of.Process.Kill()
		_ = s.of.Wait()
	}
}

// serve starts the target on core 0, or moves a running broker there. It returns the command of
// takt that loads it.
func (c *verdictCase) serve(t *testing.T) (load []string, s process) {
	t.Helper()
	if c.broker != "" {
		return c.fromBroker(t)
	}
	words := append([]string{"taskset", "-c", "0", binary(t), "target", "--addr", "127.0.0.1:0"}, c.target...)
	if c.ports != "" {
		words = []string{"unshare", "--net", "sh", "-c",
			"ip link set lo up && echo " + c.ports + " > /proc/sys/net/ipv4/ip_local_port_range && exec " + strings.Replace(strings.Join(words, " "), ":0 ", ":8080 ", 1)}
	}
	cmd := exec.Command(words[0], words[1:]...)
	return []string{"http", address(t, cmd)}, process{cmd.Process, cmd}
}

// fromBroker moves the running broker to core 0.
func (c *verdictCase) fromBroker(t *testing.T) (load []string, s process) {
	t.Helper()
	addr, _, _ := strings.Cut(os.Getenv("TAKT_"+strings.ToUpper(c.broker)), " ")
	_, port, _ := net.SplitHostPort(addr)
	out, err := exec.Command("sh", "-c", "ss -Hltnp sport = :"+port+" | grep -o pid=[0-9]*").Output()
	pid, errPid := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(string(out)), "pid="))
	if err == nil {
		err = errPid
	}
	if err == nil {
		err = exec.Command("taskset", "-acp", "0", strconv.Itoa(pid)).Run()
	}
	if err != nil {
		t.Fatalf("%s at %s: %v", c.broker, addr, err)
	}
	broker, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	load = []string{"kafka", "produce", "--brokers", addr, "--topic", "verdicts"}
	if c.broker == "artemis" {
		load = []string{"jms", "producer", "--user", "takt", "--password", "takt", "--url", "tcp://" + addr, "queue://VERDICTS"}
	}
	return load, process{Process: broker}
}

// throttle limits a process to so many per cent of a core. It returns a function that undoes it.
func throttle(t *testing.T, pid, percent int) func() {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup/cpu", fmt.Sprint("takt-", pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("cannot create a cgroup: ", err)
	}
	for _, f := range [][2]string{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", strconv.Itoa(1000 * percent)}, {"cgroup.procs", strconv.Itoa(pid)}} {
		if err := os.WriteFile(filepath.Join(dir, f[0]), []byte(f[1]), 0); err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = os.Remove(dir) }
}
