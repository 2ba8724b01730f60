//go:build real

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file break one of two brokers of Artemis that share a store while takt runs. They
// compare the outages and the ledger of takt with what the broker's own program says of the queue.

// pair is a primary and its backup, each behind a proxy.
type pair struct {
	programs string
	nodes    [2]*artemisNode
}

// artemisNode is one broker of a pair.
type artemisNode struct {
	dir    string
	direct string
	proxy  *middle
}

// artemisScript starts a broker, whose pid is then in the file pid.
const artemisScript = `#!/bin/sh
cd %[1]s
echo $$ >pid
echo AMQ221000 >>out
exec bin/artemis run >>out 2>&1 </dev/null
`

func startPair(t *testing.T) *pair {
	t.Helper()
	_, programs, ok := strings.Cut(os.Getenv("TAKT_FAILOVER"), " ")
	if !ok {
		t.Fatal("TAKT_FAILOVER is not what scripts/servers start failover prints; run scripts/test-real --wide")
	}
	p, shared, ports := &pair{programs: programs}, filepath.Join(t.TempDir(), "shared"), [2]string{freePort(t), freePort(t)}
	for i := range p.nodes {
		n := &artemisNode{dir: filepath.Join(t.TempDir(), fmt.Sprint("broker", i)), direct: "127.0.0.1:" + ports[i]}
		n.proxy = between(t, n.direct)
		p.nodes[i] = n
		words := strings.Fields("--silent --host 127.0.0.1 --user takt --password takt --require-login --nio --no-autotune --no-web --no-amqp-acceptor --no-hornetq-acceptor --no-mqtt-acceptor --no-stomp-acceptor " +
			"--shared-store --failover-on-shutdown --clustered --cluster-user both --cluster-password both --java-memory 512M --global-max-size 64M")
		if i == 1 {
			words = append(words, "--backup")
		}
		words = append(words, "--name", fmt.Sprint("node", i), "--default-port", ports[i], "--data", shared, "--staticCluster", "tcp://127.0.0.1:"+ports[1-i])
		create := exec.Command(filepath.Join(programs, "bin", "artemis"), append([]string{"create", n.dir}, words...)...)
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		settings, err := os.ReadFile(filepath.Join(n.dir, "etc", "broker.xml"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(settings), "<max-disk-usage>90<", "<max-disk-usage>99<", 1)
		if err := os.WriteFile(filepath.Join(n.dir, "etc", "broker.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(n.dir, "start"), fmt.Appendf(nil, artemisScript, n.dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, n := range p.nodes {
			_ = exec.Command("sh", "-c", n.kill("KILL")).Run()
		}
	})
	p.await(t)
	return p
}

func (n *artemisNode) kill(signal string) string {
	return fmt.Sprintf("kill -%s $(cat %s/pid)", signal, n.dir)
}

func (n *artemisNode) begin() string {
	return fmt.Sprintf("setsid %s/start >/dev/null 2>&1 </dev/null & sleep 0.3", n.dir)
}

func (n *artemisNode) freeze() string { return n.kill("STOP") + "; sleep 5; " + n.kill("CONT") }

func (n *artemisNode) restart() string {
	return fmt.Sprintf("%s; while %s 2>/dev/null; do sleep 0.05; done; %s", n.kill("TERM"), n.kill("0"), n.begin())
}

func (n *artemisNode) hide(mode string) string {
	return n.proxy.command(mode) + "; sleep 5; " + n.proxy.command(modePass)
}

func (n *artemisNode) alive() bool { return exec.Command("sh", "-c", n.kill("0")).Run() == nil }

// The messages of a broker that begins or ends, that is active, and that waits as the backup.
const (
	isStarting = "AMQ221000"
	isStopped  = "AMQ221002"
	isActive   = "AMQ221007"
	isInPlace  = "AMQ221010" // a backup is active
	isBackup   = "AMQ221031"
)

// role is isActive, isBackup, or another text.
func (n *artemisNode) role() (role string) {
	if !n.alive() {
		return isStopped
	}
	text, _ := os.ReadFile(filepath.Join(n.dir, "out"))
	for line := range strings.Lines(string(text)) {
		for _, code := range []string{isStarting, isStopped, isActive, isInPlace, isBackup} {
			if strings.Contains(line, code) {
				role = code
			}
		}
	}
	return role
}

// await starts what does not run, and waits until the first broker is active and the second its
// backup: a primary that comes back asks the backup for its place.
func (p *pair) await(t *testing.T) {
	t.Helper()
	for _, n := range p.nodes {
		if !n.alive() {
			shell(t, n.begin())
		}
	}
	until(t, "the first broker is active, and the second its backup", func() bool {
		return p.nodes[0].role() == isActive && p.nodes[1].role() == isBackup
	})
}

// log has what both brokers logged of their roles since an instant.
func (p *pair) log(since time.Time) string {
	list := []string{}
	for i, n := range p.nodes {
		text, _ := os.ReadFile(filepath.Join(n.dir, "out"))
		for line := range strings.Lines(string(text)) {
			at, err := time.ParseInLocation("2006-01-02 15:04:05,000", line[:min(len(line), 23)], time.Local)
			if err == nil && at.After(since) && (strings.Contains(line, isActive) || strings.Contains(line, isInPlace) || strings.Contains(line, isStopped) || strings.Contains(line, isBackup)) {
				list = append(list, fmt.Sprintf("%.1fs node%d %s", at.Sub(since).Seconds(), i, strings.TrimSpace(line[strings.Index(line, "AMQ"):min(len(line), strings.Index(line, "AMQ")+60)])))
			}
		}
	}
	return strings.Join(list, "; ")
}

// active is the broker that answers.
func (p *pair) active(t *testing.T) jmsBroker {
	t.Helper()
	var b jmsBroker
	until(t, "a broker of the pair answers", func() bool {
		for _, n := range p.nodes {
			out, err := exec.Command(filepath.Join(p.programs, "bin", "artemis"), "queue", "stat", "--user", "takt", "--password", "takt", "--url", "tcp://"+n.direct+"?initialConnectAttempts=1").CombinedOutput()
			if err == nil && strings.Contains(string(out), "NAME") {
				b = jmsBroker{addr: n.direct, folder: p.programs}
				return true
			}
		}
		return false
	})
	return b
}

// artemisCell is a test of the matrix.
type artemisCell struct {
	name  string
	fault func(n *artemisNode) string
	who   int
	out   bool
	flags string
}

func TestRealFailoverArtemis(t *testing.T) {
	p := startPair(t)
	killed := func(n *artemisNode) string { return n.kill("KILL") }
	cut := func(n *artemisNode) string { return n.proxy.command(modeCut) }
	hole := func(n *artemisNode) string { return n.hide(modeHole) }
	refuse := func(n *artemisNode) string { return n.hide(modeRefuse) }
	for _, x := range []artemisCell{
		{"kill primary", killed, 0, true, "client"},
		{"kill backup", killed, 1, false, "client"},
		{"stop primary", (*artemisNode).freeze, 0, true, "client"},
		{"stop backup", (*artemisNode).freeze, 1, false, "client"},
		{"restart primary", (*artemisNode).restart, 0, true, "client"},
		{"restart backup", (*artemisNode).restart, 1, false, "client"},
		{"cut primary", cut, 0, true, "client"},
		{"hole primary", hole, 0, true, "client"},
		{"refuse primary", refuse, 0, true, "client"},
		{"kill primary producer", killed, 0, true, "producer"},
		{"cut primary producer", cut, 0, true, "producer"},
		{"kill primary transactions", killed, 0, true, "client --tx --commit-interval 20"},
		{"kill primary fail", killed, 0, true, "client --in-doubt fail"},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) { x.test(t, p) })
	}
}

func (x artemisCell) test(t *testing.T, p *pair) {
	p.await(t)
	p.active(t) // answers
	queue := strings.ReplaceAll(x.name, " ", "-")
	url := fmt.Sprintf("failover:(amqp://%s,amqp://%s)", p.nodes[0].proxy.addr, p.nodes[1].proxy.addr)
	words := append(strings.Fields(x.flags), strings.Fields("--rate 1000/s --duration 12s --drain 40s --persistent --max-pending 200 --reconnect 40s")...)
	words = append(words, "--url", url, "--fault", x.fault(p.nodes[x.who])+"@3s", queue)
	s := jmsBroker{}.run(t, words...)
	if s.report == nil {
		t.Fatalf("exit code %d\n%s\n%s", s.code, s.out, s.stderr)
	}
	r, l := s.report, s.report.Ledger
	q := p.active(t).queues(t)[queue]
	t.Logf("CELL %s\n  outages: %s\n  brokers: %s\n  counts %+v, extra %v\n  ledger %s, queue %+v\n  errors %v\n  warnings %v", x.name, outageText(r), p.log(r.StartedAt), r.Counts, r.Extra,
		ledgerText(l), q, r.Errors, r.Warnings)
	if s.code != 0 || len(r.Outages) > 0 != x.out {
		t.Errorf("exit code %d\n%s\n%s", s.code, s.out, s.stderr)
	}
	if n := total(r, func(o takt.Outage) *uint64 { return &o.Failed }); n != r.Counts.Failed {
		t.Errorf("%d failed in outages, counts %+v", n, r.Counts)
	}
	x.compare(t, r, q)
}

// compare compares the counts of takt with the queue.
func (x artemisCell) compare(t *testing.T, r *takt.Report, q queue) {
	t.Helper()
	l := r.Ledger
	if warning(r, "ledger_unknown") != "" { // too slow
		t.Log("no ledger")
		return
	}
	if l.Acknowledged != r.Counts.OK || l.Missing > 0 {
		t.Errorf("ledger %s, counts %+v", ledgerText(l), r.Counts)
	}
	if strings.HasPrefix(x.flags, "producer") {
		if l.Stored == nil || int(*l.Stored) != q.left || l.Acknowledged+l.Surplus != *l.Stored {
			t.Errorf("ledger %s, queue %+v", ledgerText(l), q)
		}
		return
	}
	lost := total(r, func(o takt.Outage) *uint64 { return o.Lost })
	doubled := total(r, func(o takt.Outage) *uint64 { return o.Doubled })
	if lost > 0 || q.left > 0 || len(r.Outages) > 0 && r.Extra["duplicate"] != float64(doubled) {
		t.Errorf("%d lost, %d doubled, extra %v, queue %+v", lost, doubled, r.Extra, q)
	}
}

func ledgerText(l takt.Ledger) string {
	stored := "unknown"
	if l.Stored != nil {
		stored = fmt.Sprint(*l.Stored)
	}
	return fmt.Sprintf("acknowledged %d, uncertain %d, stored %s, missing %d, surplus %d", l.Acknowledged, l.Uncertain, stored, l.Missing, l.Surplus)
}
