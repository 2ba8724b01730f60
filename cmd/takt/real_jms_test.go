//go:build real

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file run takt jms against the Artemis of scripts/servers. They compare takt's
// counts with the broker's queue statistics.

// jmsBroker is a running Artemis.
type jmsBroker struct {
	addr   string
	folder string // of its programs
	secure string // address for TLS
	cert   string // file with the certificate for TLS
}

func artemis(t *testing.T) jmsBroker {
	t.Helper()
	where := strings.Fields(os.Getenv("TAKT_ARTEMIS"))
	if len(where) != 4 {
		t.Fatal("TAKT_ARTEMIS is not what scripts/servers start artemis prints; run scripts/test-real")
	}
	return jmsBroker{where[0], where[1], where[2], where[3]}
}

// said is the result of a run of takt jms, as a user sees it.
type said struct {
	code        int
	out, stderr string
	report      *takt.Report // nil: takt wrote none
}

// run runs takt jms with those words. It replaces localhost:61616 by the broker's address.
func (b jmsBroker) run(t *testing.T, words ...string) said {
	t.Helper()
	return b.anonymous(t, slices.Concat(words, []string{"--user", "takt", "--password", "takt"})...)
}

// anonymous is run without a user.
func (b jmsBroker) anonymous(t *testing.T, words ...string) said {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	var out, stderr bytes.Buffer
	args := slices.Concat([]string{"jms"}, words, []string{"--no-store", "-o", "json=" + path})
	if !slices.Contains(words, "--url") {
		args = append(args, "--url", "tcp://localhost:61616")
	}
	for i := range args {
		args[i] = strings.Replace(args[i], "localhost:61616", b.addr, 1)
	}
	s := said{code: cli.Main(core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr, Getenv: func(string) string { return "" }, Interrupt: t.Context(),
	}, args)}
	s.out, s.stderr = out.String(), stderr.String()
	if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
		if err := json.Unmarshal(text, &s.report); err != nil {
			t.Fatal(err)
		}
		if words[0] != "consumer" { // it has no response times
			checkLaws(t, s.report)
		}
	}
	return s
}

// good demands exit code 0 and that every operation is ok.
func (s said) good(t *testing.T) *takt.Report {
	t.Helper()
	if s.code != 0 || s.report == nil || s.report.Counts.OK != s.report.Counts.Scheduled {
		t.Fatalf("exit code %d\n%s\n%s", s.code, s.out, s.stderr)
	}
	return s.report
}

// queue is a row of the broker's statistics.
type queue struct{ left, added, acked int }

func (b jmsBroker) queues(t *testing.T) map[string]queue {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(b.folder, "bin", "artemis"), "queue", "stat",
		"--user", "takt", "--password", "takt", "--url", "tcp://"+b.addr, "--maxRows", "1000", "--maxColumnSize", "100").Output()
	if err != nil {
		t.Fatalf("queue stat: %v\n%s", err, out)
	}
	all := map[string]queue{}
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(line, "|")
		if len(cells) < 9 {
			continue
		}
		number := func(i int) int {
			n, _ := strconv.Atoi(strings.TrimSpace(cells[i])) // 0 for the head of the table
			return n
		}
		all[strings.TrimSpace(cells[1])] = queue{number(4), number(5), number(7)}
	}
	return all
}

// sent is the number of messages that a run sent, with the warm-up.
func sent(r *takt.Report) int { return int(r.Counts.OK + r.WarmupCounts.OK) }

// received is the number of messages that arrived.
func received(t *testing.T, r *takt.Report) int {
	t.Helper()
	n, ok := r.Extra["received"].(float64)
	if !ok {
		t.Fatalf("extra %v", r.Extra)
	}
	return int(n)
}

// Every command line of artemis perf's manual works with takt jms: it prints the same lines and leaves
// no messages or subscriptions.
func TestRealJMSManual(t *testing.T) {
	b := artemis(t)
	dir := t.TempDir()
	const urls = " --show-latency --url tcp://localhost:61616?confirmationWindowSize=20000 --consumer-url tcp://localhost:61616 "
	const durable = "--producers 3 --consumers 2 --num-destinations 10 --durable --persistent topic://DURABLE_TOPIC"
	before := b.queues(t)["TEST_QUEUE"]
	total := 0
	for _, c := range []struct {
		line           string
		rated, latency bool
		copies         int
	}{
		{"client queue://TEST_QUEUE", false, false, 1},
		{"client" + urls + "queue://TEST_QUEUE", false, true, 1},
		{"client --warmup 20 --max-pending 100" + urls + "queue://TEST_QUEUE --hdr " + dir + "/non_durable_queue.hdr", false, true, 1},
		{"client --rate 30000 --hdr " + dir + "/30K.hdr --warmup 20 --max-pending 100" + urls + "queue://TEST_QUEUE", true, true, 1},
		{"client --warmup 20 --max-pending 100" + urls + durable + " --clientID test_id", false, true, 2},
		{"client --warmup 20 --max-pending 100" + urls + durable + " --clientID test_id --rate 60000", true, true, 2},
		{"client --warmup 20 --max-pending 100" + urls + durable + " --clientID test_id --rate 60000 --threads 2", true, true, 2},
	} {
		// The manual's runs have no end, and a longer warm-up, for a JVM.
		s := b.run(t, append(strings.Fields(c.line), "--warmup", "1", "--duration", "2", "--drain", "60s")...)
		r := s.good(t)
		if got := received(t, r); got != c.copies*sent(r) || sent(r) == 0 {
			t.Errorf("%s: %d received of %d sent", c.line, got, sent(r))
		}
		if c.copies == 1 {
			total += sent(r)
		}
		if missing := form(c.rated, c.latency, sent(r), c.copies).FindString(s.stderr); missing == "" {
			t.Errorf("%s: it printed\n%s", c.line, s.stderr)
		}
	}
	all := b.queues(t)
	if q := all["TEST_QUEUE"]; q.left != 0 || q.added-before.added != total || q.acked-before.acked != total {
		t.Errorf("TEST_QUEUE %+v, before %+v, and %d were sent", q, before, total)
	}
	for name := range all {
		if strings.Contains(name, "test_id") || strings.HasPrefix(name, "DURABLE_TOPIC") {
			t.Errorf("the subscription %s is left", name)
		}
	}
	s := b.run(t, strings.Fields("client --warmup 20 --max-pending 100"+urls+durable)...)
	if s.code != 2 || !strings.Contains(s.stderr, "client ID has not been set: add --clientID PREFIX") {
		t.Errorf("exit code %d: %s", s.code, s.stderr)
	}
	for _, name := range []string{"non_durable_queue.hdr", "30K.hdr"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Contains(text, []byte("Tag=transfer,")) || !bytes.Contains(text, []byte("Tag=warmup-send,")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// form matches what artemis perf prints.
func form(rated, latency bool, sent, copies int) *regexp.Regexp {
	const spread = `mean: +[\d.]+ us( - [\d.]+%: +[\d.]+ us){5} - max: +[\d.]+ us`
	live := ""
	if latency {
		live = ` \n--- send ack time:   ` + spread + ` \n--- transfer time:   ` + spread
		if rated {
			live = ` \n--- send delay time: ` + spread + live
		}
	}
	delay := ""
	if rated {
		delay = "--- aggregated delay send time: " + spread + " \n"
	}
	return regexp.MustCompile(`^Connection brokerURL = tcp://.*\n` +
		`(\n--- warmup (true |false) \n--- sent: +\d+ msg/sec \n--- blocked: +\d+ msg/sec \n--- completed: +\d+ msg/sec \n--- received: +\d+ msg/sec` + live + `\n)+` +
		`\n--- SUMMARY\n--- result:              success\n` +
		fmt.Sprintf(`--- total sent: +%d\n--- total blocked: +\d+\n--- total completed: +%d\n--- total received: +%d \n`, sent, sent, sent*copies) +
		delay + `--- aggregated send time:       ` + spread + ` \n--- aggregated transfer time:   ` + spread + `\n$`)
}

// For every way to send and to receive, all messages arrive and none is left.
func TestRealJMSWays(t *testing.T) {
	b := artemis(t)
	for name, line := range map[string]string{
		"remainders":     "--message-count 1009 --producers 10 --max-pending 3",
		"commits":        "--message-count 1009 --commit-interval 50 --max-pending 10 --producers 2",
		"tx":             "--message-count 1009 --tx --max-pending 20",
		"tx-each":        "--message-count 203 --tx --ack each --max-pending 20",
		"batch":          "--message-count 20009 --ack batch --max-pending 100",
		"large":          "--message-count 60 --message-size 300000 --max-pending 10",
		"larger":         "--message-count 30 --message-size 102401 --max-pending 10 --persistent",
		"unbounded":      "--message-count 20009 --max-pending 0",
		"connections":    "--message-count 1009 --producers 4 --threads 2 --shared-connections --consumers 4 --consumer-connections 2 --max-pending 9",
		"a-group":        "--message-count 1009 --group g --consumers 2 --max-pending 9",
		"with-headers":   "--message-count 1009 --persistent --ttl 60000 --enable-msg-id --enable-timestamp --priority 7 --max-pending 9",
		"few-credits":    "--message-count 1009 --credit 1 --max-pending 9",
		"shared":         "topic --message-count 1009 --shared 2 --consumers 2 --max-pending 9",
		"shared-ID":      "topic --message-count 1009 --shared 2 --consumers 2 --clientID shr --max-pending 9",
		"shared-durable": "topic --message-count 1009 --shared 2 --consumers 2 --durable --clientID shd --max-pending 9",
	} {
		t.Run(name, func(t *testing.T) {
			line, topic := strings.CutPrefix(line, "topic ")
			to, copies := "queue://WAYS."+name, 1
			if topic {
				to, copies = "topic://WAYS."+name, 2
			}
			r := b.run(t, append(strings.Fields("client "+line), to)...).good(t)
			if got := received(t, r); got != copies*sent(r) || !strings.Contains(line, fmt.Sprint(sent(r))) || r.Extra["lost"] != 0.0 || r.Extra["duplicate"] != 0.0 {
				t.Errorf("%d received of %d sent; %v", got, sent(r), r.Extra)
			}
		})
	}
	for name, q := range b.queues(t) {
		if strings.HasPrefix(name, "WAYS.") && (q.left != 0 || q.added != q.acked) || strings.HasPrefix(name, "sh") {
			t.Errorf("%s is left: %+v", name, q)
		}
	}
}

// Over TLS takt verifies the broker's certificate, unless the user forbids it.
func TestRealJMSTLS(t *testing.T) {
	b := artemis(t)
	for _, c := range []struct{ line, says string }{
		{"amqps://" + b.secure + " --tls-ca-cert " + b.cert, ""},
		{"tcp://" + b.secure + "?sslEnabled=true --tls-ca-cert " + b.cert, ""},
		{"amqps://" + b.secure + " --tls-insecure-skip-verify", ""},
		{"amqps://" + b.secure, "certificate signed by unknown authority"},
		{"amqps://" + b.addr, "the port speaks AMQP without TLS; write amqp://" + b.addr},
		{"amqp://" + b.secure, "the port wants TLS; write amqps://" + b.secure},
		{"tcp://" + b.secure, "the port wants TLS"},
	} {
		s := b.run(t, strings.Fields("client --message-count 1009 --max-pending 100 queue://TLS --url "+c.line)...)
		if c.says == "" {
			if r := s.good(t); received(t, r) != 1009 {
				t.Errorf("%s: %v", c.line, r.Extra)
			}
		} else if s.code != 1 || !strings.Contains(s.stderr, c.says) {
			t.Errorf("%s: exit code %d\n%s", c.line, s.code, s.stderr)
		}
	}
}

// A subscription kept by --keep-subscriptions gets messages that are sent while nobody listens.
func TestRealJMSKeep(t *testing.T) {
	b := artemis(t)
	line := "--durable --clientID kept --message-count 10 topic://KEEP"
	b.run(t, strings.Fields("client --keep-subscriptions "+line)...).good(t)
	b.run(t, strings.Fields("producer --message-count 25 topic://KEEP")...).good(t)
	if q := b.queues(t)["kept.KEEP0"]; q.left != 25 {
		t.Errorf("the subscription has %+v", q)
	}
	b.run(t, strings.Fields("consumer --durable --clientID kept --message-count 25 topic://KEEP")...).good(t)
	if q, ok := b.queues(t)["kept.KEEP0"]; ok {
		t.Errorf("the subscription is left: %+v", q)
	}
}

// artemis perf consumer reads what takt sends, and takt reads what artemis perf producer sends. Both
// find a transfer time in the other's messages.
func TestRealJMSPerf(t *testing.T) {
	b := artemis(t)
	perf := func(words ...string) string {
		t.Helper()
		// With fewer pending messages --message-count does not end artemis perf: see jms.md.
		out, err := exec.CommandContext(t.Context(), filepath.Join(b.folder, "bin", "artemis"), append([]string{"perf"}, append(words,
			"--user", "takt", "--password", "takt", "--url", "tcp://"+b.addr)...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	b.run(t, strings.Fields("producer --message-count 300 --max-pending 50 PERF")...).good(t)
	if out := perf("consumer", "--message-count", "300", "PERF"); !regexp.MustCompile(`total received: +300`).MatchString(out) ||
		!regexp.MustCompile(`aggregated transfer time: +mean: +\d`).MatchString(out) {
		t.Error(out)
	}
	perf("producer", "--message-count", "300", "--max-pending", "2000", "PERF")
	r := b.run(t, strings.Fields("consumer --message-count 300 PERF")...).good(t)
	if r.Extra["transfer_from"] != "sent" || r.Latency["transfer"].Count != 300 || r.Extra["foreign"] != 300.0 {
		t.Errorf("extra %v, transfer %+v", r.Extra, r.Latency["transfer"])
	}
	if took := r.Latency["transfer"].Max; took <= 0 || took > float64(time.Minute/time.Microsecond) {
		t.Errorf("transfer max %v µs", took)
	}
}

// Both JMS client libraries of Artemis read takt's messages: body, id, timestamp, priority,
// persistence, group and properties.
func TestRealJMSJava(t *testing.T) {
	b := artemis(t)
	classes := t.TempDir()
	jars := b.folder + "/lib/*"
	if out, err := exec.Command("javac", "-d", classes, "-cp", jars, "../../internal/amqp/testdata/java/Peer.java").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, protocol := range []string{"amqp", "core"} {
		queue := "JAVA." + protocol
		b.run(t, strings.Fields("producer --message-count 3 --message-size 5 --persistent --priority 7 --group g --enable-msg-id --enable-timestamp "+queue)...).good(t)
		out, err := exec.Command("java", "-cp", classes+string(os.PathListSeparator)+jars, "Peer", b.addr, protocol, "receive", queue, "3").Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		one := `bytes 5 sum=5 mode=2 priority=7 id=ID:\S+ created=\d{13} expires=0 JMSXGroupID=g:String takt_due=\d{16}:Long takt_number=\d:Long takt_run=\d+:Long time=\d{16}:Long\n`
		if !regexp.MustCompile(`^(` + one + `){3}`).Match(out) {
			t.Errorf("%s reads\n%s", protocol, out)
		}
	}
}

// When the broker is killed and takt does not connect again, it still writes a report with correct counts, and
// the exit code is 1.
func TestRealJMSKilled(t *testing.T) {
	from := artemis(t)
	b := jmsBroker{folder: from.folder}
	kill := b.start(t)
	time.AfterFunc(4*time.Second, kill)
	s := b.run(t, strings.Fields("client --rate 2000 --max-pending 100 --duration 60 --reconnect 0 KILLED")...)
	if s.code != 1 || s.report == nil || !strings.Contains(s.stderr, "--- result:              fail") || !strings.Contains(s.stderr, "takt: the run ended before its time") {
		t.Fatalf("exit code %d\n%s\n%s", s.code, s.out, s.stderr)
	}
	r := s.report
	for _, e := range r.Errors {
		if e.Class != "connection" && e.Class != "in_doubt" {
			t.Errorf("%d failures of class %s: %s", e.Count, e.Class, e.Sample)
		}
	}
	if r.Counts.OK == 0 || r.DurationS > 30 || r.Extra["completed"] != float64(r.Counts.OK) || float64(received(t, r)) > float64(r.Counts.Sent) {
		t.Errorf("counts %+v after %v s, extra %v", r.Counts, r.DurationS, r.Extra)
	}
}

// start starts a broker for this test alone, and returns a function that kills it.
func (b *jmsBroker) start(t *testing.T) (kill func()) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "broker")
	port := freePort(t)
	create := exec.Command(filepath.Join(b.folder, "bin", "artemis"), "create", dir, "--silent", "--name", "killed", "--host", "127.0.0.1",
		"--default-port", port, "--user", "takt", "--password", "takt", "--require-login", "--nio", "--no-fsync", "--no-autotune", "--no-web",
		"--no-amqp-acceptor", "--no-hornetq-acceptor", "--no-mqtt-acceptor", "--no-stomp-acceptor", "--java-memory", "512M")
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	broker := exec.Command(filepath.Join(dir, "bin", "artemis"), "run") // the script execs the JVM
	out, err := broker.StdoutPipe()
	if err == nil {
		err = broker.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = broker.Process.Kill() } // may be called twice
	t.Cleanup(func() { kill(); _ = broker.Wait() })
	ready := make(chan bool, 1)
	go func() {
		var text []byte
		buf := make([]byte, 1<<16)
		for {
			n, err := out.Read(buf)
			if text = append(text, buf[:n]...); bytes.Contains(text, []byte("AMQ221007")) || err != nil {
				ready <- err == nil
				text = nil
			}
			if err != nil {
				return
			}
		}
	}()
	if !<-ready {
		t.Fatal("the broker did not start")
	}
	b.addr = "127.0.0.1:" + port
	return kill
}

// freePort is a port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err == nil {
		err = ln.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return port
}
