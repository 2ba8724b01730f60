package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/trace"
)

func record(partition int32, offset, ms int64) *kgo.Record {
	return &kgo.Record{
		Partition: partition, Offset: offset, Timestamp: time.UnixMilli(1_700_000_000_000 + ms),
		Key: []byte("k" + fmt.Sprint(offset)), Value: []byte{0xff, 0, byte(offset)},
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("é")}, {Key: "none"}, {Key: "takt", Value: []byte("stamp")}},
	}
}

// all reads a file, in the order of its lines.
func all(t *testing.T, path string) (list []*Record, at []int64, err error) {
	t.Helper()
	r, err := Open(path, kgo.RecordHeader{Key: "takt", Value: make([]byte, 38)})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		var rec trace.Record
		if err := r.Next(&rec); err != nil {
			return list, at, err
		}
		list, at = append(list, Decode(&rec)), append(at, rec.At.UnixMilli()-1_700_000_000_000)
	}
}

// What comes partition by partition is in the file by time, and each partition in its own order.
func TestMerge(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.jsonl.zst", "a.jsonl.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("old and open"), 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := Create(path, "orders", 3, 1<<30, "takt")
		if err != nil {
			t.Fatal(err)
		}
		w.Expect(0, false)
		w.Expect(1, false)
		w.Expect(2, true) // empty
		next := [2]int64{}
		for next[0] < 200 || next[1] < 200 {
			p := rand.IntN(2)
			n := min(1+rand.Int64N(40), 200-next[p])
			var list []*kgo.Record
			for range n {
				list = append(list, record(int32(p), next[p], 10*next[p]+int64(p)))
				next[p]++
			}
			if _, _, err := w.Add(int32(p), list, next[p], 200); err != nil {
				t.Fatal(err)
			}
		}
		if n, early, err := w.Close(); n != 400 || early != 0 || err != nil {
			t.Fatalf("%d records, %d early, %v", n, early, err)
		}
		list, at, err := all(t, path)
		if len(list) != 400 || err != io.EOF {
			t.Fatalf("%d records, %v", len(list), err)
		}
		for i, one := range list {
			if want := int64(10*(i/2) + i%2); at[i] != want || one.Partition != int32(i%2) || string(one.Key) != fmt.Sprint("k", i/2) || string(one.Value) != string([]byte{0xff, 0, byte(i / 2)}) {
				t.Fatalf("record %d at %d: %+v", i, at[i], one)
			}
			if one.StampAt != 7 || !strings.Contains(string(one.Headers), "trace") || strings.Contains(string(one.Headers), "stamp") {
				t.Fatalf("headers %q, stamp at %d", one.Headers, one.StampAt)
			}
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
}

// Nulls are not empty texts.
func TestNulls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := Create(path, "t", 1, 1<<30, "takt")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []*kgo.Record{{}, {Key: []byte{}, Value: []byte{}}, {Key: []byte("k")}} {
		r.Offset, r.Timestamp = int64(i), time.UnixMilli(1_700_000_000_000)
		if _, _, err := w.Add(0, []*kgo.Record{r}, int64(i+1), 3); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, _, err := all(t, path)
	if err != io.EOF || len(list) != 3 || list[0].Key != nil || list[0].Value != nil || list[1].Key == nil || list[1].Value == nil || list[2].Value != nil {
		t.Errorf("%v %+v", err, list)
	}
}

// A partition that is far ahead is not fetched until others have come as far, and memory is bounded.
func TestAhead(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a"), "t", 2, 1<<30, "takt")
	if err != nil {
		t.Fatal(err)
	}
	w.Expect(0, false)
	w.Expect(1, false)
	big := bytes.Repeat([]byte("x"), 1<<20) // zeros would be six times as long in the file
	for i := range int64(100) {
		r := record(0, i, i)
		r.Value = big
		pause, _, err := w.Add(0, []*kgo.Record{r}, i+1, 1000)
		if err != nil || (i == 3) != (len(pause) == 1) && i < 10 {
			t.Fatalf("record %d: pause %v, %v", i, pause, err)
		}
	}
	if w.waiting > mostWaiting || w.early == 0 {
		t.Errorf("%d bytes wait, %d early", w.waiting, w.early)
	}
	if _, resume, _ := w.Add(1, []*kgo.Record{record(1, 0, 1000)}, 1, 1); len(resume) != 1 {
		t.Errorf("resumed: %v", resume)
	}
	_, _, _ = w.Close()
}

// A file has at most its size, and the records that are counted can be read, up to the end.
func TestSize(t *testing.T) {
	for _, name := range []string{"a", "a.zst", "a.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path, "t", 1, 1<<20, "takt")
		if err != nil {
			t.Fatal(err)
		}
		for i := int64(0); err == nil && i < 1_000_000; i++ {
			r := record(0, i, i)
			r.Value = make([]byte, 1000)
			for k := range r.Value {
				r.Value[k] = byte(rand.Uint32())
			}
			_, _, err = w.Add(0, []*kgo.Record{r}, i+1, i+1)
		}
		if !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		n, _, _ := w.Close()
		info, _ := os.Stat(path)
		list, _, err := all(t, path)
		if info.Size() > 1<<20 || len(list) < 500 || uint64(len(list)) != n || err != io.EOF {
			t.Errorf("%s: %d bytes, %d of %d records, %v", name, info.Size(), len(list), n, err)
		}
	}
}

// A full disk is an error with its cause.
func TestFullDisk(t *testing.T) {
	w, err := Create("/dev/full", "t", 1, 1<<30, "takt")
	if err != nil {
		t.Skip(err)
	}
	for i := int64(0); err == nil && i < 10_000; i++ {
		_, _, err = w.Add(0, []*kgo.Record{record(0, i, i)}, i+1, i+1)
	}
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
}

// Whatever is in a file of a stranger, there is an error that says where, and no more memory than a line
// may have.
func TestHostile(t *testing.T) {
	const first = `{"takt_capture":1,"topic":"t","partitions":2}` + "\n"
	good := first + `{"t":1700000000000,"p":0,"o":0,"k":"a","v":"b"}` + "\n"
	for _, c := range []struct {
		name, content string
		records       int
		fault         string
	}{
		{"empty", "", 0, "is not a file of takt"},
		{"another file", "a,b,c\n1,2,3\n", 0, "is not a file of takt"},
		{"a later version", strings.Replace(good, ":1,", ":2,", 1), 0, "a newer takt"},
		{"no partitions", strings.Replace(good, `"partitions":2`, `"partitions":-1`, 1), 0, "is not a file of takt"},
		{"cut off", good + `{"t":17000000`, 1, "cut off in line 3"},
		{"a partition that is not there", good + `{"t":1700000000000,"p":2,"v":"x"}` + "\n", 1, "line 3"},
		{"a negative partition", good + `{"t":1700000000000,"p":-1,"v":"x"}` + "\n", 1, "line 3"},
		{"no time", good + `{"p":1,"v":"x"}` + "\n", 1, "line 3"},
		{"two values", good + `{"t":1700000000000,"p":1,"v":"x","v64":"eA=="}` + "\n", 1, "line 3"},
		{"not base64", good + `{"t":1700000000000,"p":1,"v64":"!"}` + "\n", 1, "line 3"},
		{"a number too large", good + `{"t":1e99,"p":1,"v":"x"}` + "\n", 1, "line 3"},
		{"a line without an end", good + strings.Repeat("x", mostLine+1), 1, "longer than"},
		{"damaged gzip", "\x1f\x8b\x08\x00 nothing", 0, ""},
	} {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		list, _, err := all(t, path)
		if len(list) != c.records || err == nil || err == io.EOF || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %d records, %v", c.name, len(list), err)
		}
	}
}
