//go:build real

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file cover authentication, errors, and a broker that is killed.

// secure returns the flags of each way to authenticate, with the listener that demands it.
func (b broker) secure(t *testing.T) map[string][]string {
	ways := map[string][]string{
		"mtls": {"--brokers", b.addr(mtlsPort), "--tls", "--tls-ca-cert", b.pki("ca.pem"), "--tls-cert-file", b.pki("client.pem"), "--tls-key-file", b.pki("client.key")},
	}
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		ways[mechanism] = []string{"--brokers", b.addr(saslPort), "--sasl", mechanism, "--sasl-user", "takt", "--sasl-password", "secret"}
	}
	ways["properties of mtls"] = []string{"--brokers", b.addr(mtlsPort), "--producer.config", properties(t, fmt.Sprintf(
		"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=%s\nssl.keystore.type=PEM\nssl.keystore.certificate.chain=%s\nssl.keystore.key=%s\n",
		b.pki("ca.pem"), oneLine(t, b.pki("client.pem")), oneLine(t, b.pki("client.key"))))}
	ways["properties of scram-sha-512"] = []string{"--brokers", b.addr(saslPort), "--command-config", properties(t,
		"security.protocol=SASL_PLAINTEXT\r\nsasl.mechanism=SCRAM-SHA-512\r\nsasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\r\n username=\"takt\" password=\"secret\";\r\n")}
	return ways
}

// properties is a file with this text.
func properties(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// oneLine is a PEM file as the value of a property.
func oneLine(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", " \\\n ")
}

// TestRealKafkaDistributions: the broker accepts records of all sizes and without a value, from each
// client and with each codec.
func TestRealKafkaDistributions(t *testing.T) {
	b := kafka(t)
	for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
		for _, codec := range []string{"none", "lz4", "zstd"} {
			t.Run(client+"/"+codec, func(t *testing.T) {
				all(t, b.produce(t, "--client", client, "--compression", codec, "-n", "2000", "--message-batch-size", "50",
					"--message-size", "lognormal:300,2KiB", "--key", "user-{{zipf 100 1.1}}", "--tombstones", "10%"), 2000)
				list, _ := b.read(t, 2000, kgo.ReadUncommitted())
				whole(t, list, 2000)
			})
		}
	}
}

func TestRealKafkaSecure(t *testing.T) {
	b := kafka(t)
	for name, way := range b.secure(t) {
		for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
			t.Run(name+"/"+client, func(t *testing.T) {
				all(t, b.produce(t, append(way, "--client", client, "-n", "500")...), 500)
				list, _ := b.read(t, 500, kgo.ReadUncommitted())
				whole(t, list, 500)
				if client == "franz" || client == "sarama" { // the others only produce
					all(t, b.run(t, "consume", append(way, "--client", client, "-n", "500")...), 500)
				}
			})
		}
	}
}

// TestRealKafkaFaults: each error is one line, with the exit code that scripts rely on.
func TestRealKafkaFaults(t *testing.T) {
	b := kafka(t)
	b.produce(t, "-n", "1")
	guest := []string{"--brokers", b.addr(saslPort), "--sasl", "plain", "--sasl-user", "guest", "--sasl-password"}
	for _, f := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"unreachable", []string{"--brokers", "127.0.0.1:1"}, 1, "no broker of 127.0.0.1:1 answers"},
		{"unknown topic", []string{"--topic", "nowhere"}, 1, "there is no topic nowhere"},
		{"not authorised", append(guest, "secret"), 1, "may not be used"},
		{"wrong password", append(guest, "wrong"), 1, "refuse the credentials"},
		{"no certificate", []string{"--brokers", b.addr(mtlsPort), "--tls", "--tls-ca-cert", b.pki("ca.pem")}, 1, "certificate"},
		{"no authority", []string{"--brokers", b.addr(mtlsPort), "--tls"}, 1, "certificate"},
		{"no TLS", []string{"--brokers", b.addr(mtlsPort)}, 1, "tls"},
		{"TLS where there is none", []string{"--tls"}, 1, "TLS"},
		{"no SASL", []string{"--brokers", b.addr(saslPort)}, 1, "SASL"},
		{"compression", []string{"--compression", "rar"}, 2, `bad --compression: "rar" is unknown`},
		{"too large", []string{"--message-size", "2000000"}, 1, "not one operation succeeded: "},
	} {
		for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
			code, said := b.fail(t, append([]string{"--client", client, "-n", "10", "--connect-timeout", "5s"}, f.args...))
			said = strings.TrimSuffix(said, "see 'takt kafka produce --help'\n")
			if lines := strings.Count(said, "\n"); code != f.code || lines != 1 || !strings.Contains(said, f.says) || strings.Contains(said, "secret") {
				t.Errorf("%s, %s: exit code %d, want %d and one line with %q; it says:\n%s", f.name, client, code, f.code, f.says, said)
			}
		}
	}
}

func TestRealKafkaTooLarge(t *testing.T) {
	b := kafka(t)
	for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
		r := b.produce(t, "--client", client, "-n", "10", "--message-size", "2000000")
		if r.Counts.Failed != 10 || len(r.Errors) != 1 || r.Errors[0].Class != "too_large" {
			t.Errorf("%s: counts %+v, errors %v; want 10 too large ones", client, r.Counts, r.Errors)
		}
	}
}

// fail runs takt kafka produce, which must end with an error.
func (b broker) fail(t *testing.T, args []string) (code int, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Main(core.Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(string) string { return "" }, Interrupt: t.Context(),
	}, slices.Concat([]string{"kafka", "produce", "--brokers", b.addr(0), "--topic", topicOf(t), "--no-store", "--progress", "none", "-o", "json"}, args))
	return code, stderr.String()
}

// TestRealKafkaKilled: the broker is killed and restarted. The run continues, and every acknowledged
// record is in the topic.
func TestRealKafkaKilled(t *testing.T) {
	b := kafka(t)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"takt", []string{"--timeout", "1s", "--idempotence=false"}},
		{"takt, idempotent", []string{"--idempotence"}},
		{"franz", []string{"--client", "franz", "--timeout", "1s", "--idempotence=false"}},
		{"franz, idempotent", []string{"--client", "franz", "--idempotence"}},
		{"sarama", []string{"--client", "sarama", "--timeout", "1s"}},
		{"sarama-async", []string{"--client", "sarama-async", "--timeout", "1s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := filepath.Join(t.TempDir(), "rows.csv")
			r := b.killed(t, append(c.args, "--required-acks", "all", "--message-batch-size", "100", "--rate", "1000/s", "-o", "samples="+rows))
			b.nothingLost(t, r, readRows(t, rows), slices.Contains(c.args, "--idempotence"))
		})
	}
}

// killed starts a run without an end. After 1000 records it kills and restarts the broker, and after
// 6000 records it stops the run with SIGINT.
func (b broker) killed(t *testing.T, args []string) *takt.Report {
	t.Helper()
	b.produce(t, "-n", "1") // creates the topic
	ctx, stop := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		err := b.await(ctx, topicOf(t), 1000)
		if err == nil {
			err = exec.CommandContext(ctx, "../../scripts/servers", "restart", "kafka").Run()
		}
		if err == nil {
			err = b.await(ctx, topicOf(t), 6000)
		}
		done <- err
		stop(&core.SignalError{Number: int(syscall.SIGINT)})
	}()
	r, code, said := runOnce(t, ctx, "kafka produce", append([]string{"--brokers", b.addr(0), "--topic", topicOf(t)}, args...))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if code != 130 {
		t.Errorf("exit code %d, want 130 for SIGINT\n%s", code, said)
	}
	checkLaws(t, r)
	return r
}

// await waits until n records have been read from the topic.
func (b broker) await(ctx context.Context, topic string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr(0)), kgo.ConsumeTopics(topic))
	if err != nil {
		return err
	}
	defer cl.Close()
	for n > 0 && ctx.Err() == nil {
		n -= cl.PollFetches(ctx).NumRecords()
	}
	return ctx.Err()
}

// nothingLost compares the result of each operation with its records in the topic.
func (b broker) nothingLost(t *testing.T, r *takt.Report, rows []row, idempotent bool) {
	t.Helper()
	list, _ := b.read(t, int(r.Counts.OK)+1, kgo.ReadUncommitted())
	list = runOf(list, r)
	start := slices.MinFunc(list, func(a, b found) int { return cmp.Compare(a.due, b.due) }).due
	copies := map[int64]int{} // by due instant
	for _, f := range list {
		copies[f.due-start]++
	}
	var lost, doubled, others int
	l, there, once := r.Ledger, uint64(len(list)), uint64(len(copies))
	for _, o := range rows {
		n := copies[o.due]
		delete(copies, o.due)
		if o.class == "ok" && n == 0 {
			lost++
		} else if o.class != "ok" && n > 0 {
			others++
		}
		if n > 1 {
			doubled++
		}
	}
	t.Logf("%+v %v, ledger %+v; the topic has %d records, %d different ones, %d of these not ok, %d doubled", r.Counts, r.Errors, l, there, once, others, doubled)
	// An uncertain batch may be written after takt looked at the topic. A surplus is copies, as of a batch
	// that a slow broker answered after --timeout and that takt had sent again. A broker may be too slow to
	// say what it has.
	sure := l.Uncertain == 0 && r.Counts.Unfinished == 0
	if l.Stored == nil && !r.Warned("ledger_unknown") || l.Stored != nil && (*l.Stored > there || sure && *l.Stored != there) || l.Acknowledged < r.Counts.OK || sure && l.Acknowledged != r.Counts.OK ||
		l.Missing > 0 || once > l.Acknowledged+l.Uncertain || l.Surplus > there-once {
		t.Errorf("ledger %+v", l)
	}
	if lost > 0 || idempotent && doubled > 0 || len(copies) > 0 || uint64(len(rows)) != r.Counts.Scheduled {
		t.Errorf("of %d operations, %d were acknowledged but are not in the topic, %d are there more than once; %d records belong to no operation; counts %+v",
			len(rows), lost, doubled, len(copies), r.Counts)
	}
	for _, e := range r.Errors {
		if !slices.Contains([]string{"refused", "connection", "timeout", "not_leader"}, e.Class) {
			t.Errorf("%d of class %s: %s", e.Count, e.Class, e.Sample)
		}
	}
}

// row is an operation in the format samples.
type row struct {
	due   int64 // ns since the start
	class string
}

func readRows(t *testing.T, path string) (rows []row) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	offset, class := slices.Index(lines[0], "offset"), slices.Index(lines[0], "class")
	for _, line := range lines[1:] {
		due, err := strconv.ParseInt(strings.Replace(line[offset], ".", "", 1), 10, 64) // nine digits after the point
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row{due, line[class]})
	}
	return rows
}
