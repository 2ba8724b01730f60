//go:build real

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/pkg/takt"
)

// The test of this file compares all clients. Kafka's own tool judges what each of them wrote.

// cell is one run of a client.
type cell struct {
	report     *takt.Report
	codec      int // Kafka's number
	idempotent bool
}

// cellRecords is the number of records of a cell.
const cellRecords = 200

var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// everyCell is for make test-wide: make test-real leaves out codecs where only the acknowledgement
// or the connection is another.
var everyCell = os.Getenv("TAKT_EVERY_CELL") != ""

// For every client and every way to write, the topic contains exactly the records that the report
// counts as ok: its ends, another client and Kafka's DumpLogSegments find them.
func TestRealKafkaClients(t *testing.T) {
	b := kafka(t)
	secure := b.secure(t)
	cells := map[string]cell{} // by run
	records := map[place]found{}
	var topics []string
	for _, way := range []struct {
		name string
		args []string
	}{{"plaintext", nil}, {"mtls", secure["mtls"]}, {"scram", secure["scram-sha-512"]}} {
		for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
			t.Run(way.name+"/"+client, func(t *testing.T) {
				topic := topicOf(t)
				topics = append(topics, topic)
				n := b.writeAll(t, client, way.args, cells)
				list, _ := b.read(t, n, kgo.ReadUncommitted())
				for _, f := range list {
					records[place{topic, f.partition, f.offset}] = f
				}
				for _, c := range cells {
					if of := runOf(slices.Clone(list), c.report); len(of) > 0 {
						whole(t, of, cellRecords)
					}
				}
				other := "franz"
				if client == "takt" || client == "franz" {
					other = "sarama"
				}
				r := b.run(t, "consume", append(way.args, "--client", other, "--from", "beginning", "-n", strconv.Itoa(n))...)
				all(t, r, uint64(n))
				for _, name := range []string{"lost", "duplicate", "reordered", "foreign", "lag"} {
					if r.Extra[name] != 0.0 {
						t.Errorf("%s: %s is %v, want 0", other, name, r.Extra[name])
					}
				}
			})
		}
	}
	defer func() {
		for _, topic := range topics {
			b.drop(t, topic)
		}
	}()
	batches := b.dump(t, topics)
	dumped := 0
	for _, d := range batches {
		dumped += d.count
		f, ok := records[d.place]
		if !ok {
			t.Fatalf("%+v begins with a record that no client read", d)
		}
		if c := cells[runName(f)]; d.codec != codecs[c.codec] || int(f.codec) != c.codec || (d.producer >= 0) != c.idempotent || !d.good {
			t.Errorf("%+v: want codec %s, idempotent %t, and a good batch", d, codecs[c.codec], c.idempotent)
		}
	}
	if want := len(cells) * cellRecords; dumped != want || len(records) != want {
		t.Errorf("Kafka's tool finds %d records, and the consumers %d; %d were acknowledged", dumped, len(records), want)
	}
}

// writeAll runs a client in every way to write, and returns the number of records.
func (b broker) writeAll(t *testing.T, client string, args []string, cells map[string]cell) (n int) {
	own := client == "takt" || client == "franz" // idempotent if --required-acks is all, unless told otherwise
	for _, acks := range [][]string{{"none"}, {"local"}, {"all"}, {"all", fmt.Sprintf("--idempotence=%t", !own)}} {
		for codec, compression := range codecs {
			if len(args) > 0 && codec%4 > 0 { // codecs and connections are independent: the first and the last will do
				continue
			}
			if !everyCell && (len(args) > 0 && (codec == 0 || acks[0] == "none") || acks[0] != "local" && codec%4 > 0) {
				continue
			}
			r := b.run(t, "produce", slices.Concat(args, []string{"--create-topic", "--client", client, "--compression", compression, "--message-batch-size", "20",
				"-n", strconv.Itoa(cellRecords), "--messages-data", strings.Repeat("takt ", 60), // compressible: clients do not compress what would not become smaller
				"--required-acks"}, acks)...)
			all(t, r, cellRecords)
			if l := r.Ledger; l.Acknowledged+l.Uncertain != cellRecords || (acks[0] == "none") != (l.Acknowledged == 0) || l.Stored == nil || *l.Stored != cellRecords || !l.Balanced() {
				t.Errorf("%v %s: ledger %+v", acks, compression, l)
			}
			cells[r.Extra["run"].(string)] = cell{r, codec, acks[0] == "all" && own == (len(acks) == 1)}
			n += cellRecords
		}
	}
	return n
}

// place is where a record is.
type place struct {
	topic     string
	partition int32
	offset    int64
}

// dumped is a batch as DumpLogSegments describes it.
type dumped struct {
	place
	count    int
	producer int64
	codec    string
	good     bool // its checksum is right, its format is 2, and it has as many records as it says
}

var (
	dumpFile   = regexp.MustCompile(`^Dumping .*/data/(.+)-(\d+)/\d+\.log$`)
	dumpBatch  = regexp.MustCompile(`^baseOffset: (\d+) .*\bcount: (\d+) .*\bproducerId: (-?\d+) .*\bmagic: (\d+) compresscodec: (\w+) .*\bisvalid: (\w+)`)
	dumpRecord = regexp.MustCompile(`^\| offset: `)
)

// dump are all batches of the topics.
func (b broker) dump(t *testing.T, topics []string) (list []dumped) {
	t.Helper()
	var files []string
	for _, topic := range topics {
		found, _ := filepath.Glob(filepath.Join(b.folder, "data", topic+"-*", "*.log")) // the pattern is good
		files = append(files, found...)
	}
	out, err := exec.Command("java", "-Xmx256m", "-cp", filepath.Join(b.folder, "libs", "*"), "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", strings.Join(files, ",")).Output()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	number := func(text string) int64 {
		n, _ := strconv.ParseInt(text, 10, 64) // digits
		return n
	}
	var file place
	records := 0
	check := func() {
		if last := len(list) - 1; last >= 0 && records != list[last].count {
			list[last].good = false
		}
		records = 0
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if f := dumpFile.FindStringSubmatch(line); f != nil {
			file = place{f[1], int32(number(f[2])), 0}
		} else if m := dumpBatch.FindStringSubmatch(line); m != nil {
			check()
			file.offset = number(m[1])
			list = append(list, dumped{file, int(number(m[2])), number(m[3]), strings.ToLower(m[5]), m[4] == "2" && m[6] == "true"})
		} else if dumpRecord.MatchString(line) {
			records++
		}
	}
	check()
	return list
}
