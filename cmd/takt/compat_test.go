package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What earlier builds of takt left behind can be opened, and says what it said then: stores,
// spools with journals of killed runs, reports, logs of histograms and settings. scripts/compat
// made each folder of testdata/compat, and nobody may change one; a new folder is for each
// release, and for each change of a format.
func TestCompatibility(t *testing.T) {
	builds, err := filepath.Glob("testdata/compat/*")
	if err != nil || len(builds) == 0 {
		t.Fatal(builds, err)
	}
	for _, from := range builds {
		t.Run(filepath.Base(from), func(t *testing.T) {
			t.Parallel()
			o := newOld(t, from)
			t.Run("store", o.checkStore)
			t.Run("files", o.checkFiles)
			t.Run("settings", o.checkSettings)
		})
	}
}

// old is what one build left behind, unpacked.
type old struct {
	dir  string
	then map[string]map[string]any // reports of the store, the spool and the killed runs, by id
}

func newOld(t *testing.T, from string) *old {
	o := &old{t.TempDir(), map[string]map[string]any{}}
	if err := os.CopyFS(o.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	packed, _ := filepath.Glob(filepath.Join(o.dir, "*.gz"))
	for _, file := range packed {
		o.unpack(t, file)
	}
	o.moveSpool(t)
	for _, r := range o.reports(t, "runs.ndjson") {
		o.then[r["id"].(string)] = r
	}
	waiting, _ := filepath.Glob(filepath.Join(o.dir, "takt/spool/*.json"))
	for _, file := range waiting {
		r := o.reports(t, strings.TrimPrefix(file, o.dir))[0]
		o.then[r["id"].(string)] = r
	}
	if len(o.then) < 15 || len(waiting) == 0 {
		t.Fatalf("%d reports, %d waited in the spool", len(o.then), len(waiting))
	}
	return o
}

func (o *old) unpack(t *testing.T, file string) {
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err == nil {
		err = os.WriteFile(strings.TrimSuffix(file, ".gz"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// moveSpool makes the unpacked store the one that reports and journals of the spool wait for.
func (o *old) moveSpool(t *testing.T) {
	home, err := os.ReadFile(filepath.Join(o.dir, "home"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(o.dir, "takt"), 0o700)
	}
	if err == nil {
		err = os.Rename(filepath.Join(o.dir, "spool"), filepath.Join(o.dir, "takt/spool"))
	}
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(o.dir, "takt/spool/*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(file) {
		case ".store":
			text = []byte(o.store())
		case ".journal":
			text = reframe(t, text, string(home)+"/takt.db", o.store())
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// reframe replaces text in the head of a journal, whose records have their length and their
// CRC-32C before them.
func reframe(t *testing.T, journal []byte, from, to string) []byte {
	mark, rest, ok := bytes.Cut(journal, []byte("\n"))
	if !ok || len(rest) < 8 {
		t.Fatalf("not a journal: %q", mark)
	}
	n := binary.LittleEndian.Uint32(rest)
	head, behind := rest[8:8+n], rest[8+n:]
	if !bytes.Contains(head, []byte(from)) {
		t.Fatalf("the head has no %s: %s", from, head)
	}
	head = bytes.ReplaceAll(head, []byte(from), []byte(to))
	out := append(slices.Clone(mark), '\n')
	out = binary.LittleEndian.AppendUint32(out, uint32(len(head)))
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli)))
	return append(append(out, head...), behind...)
}

func (o *old) store() string { return filepath.Join(o.dir, "takt.db") }

// reports reads a file of JSON documents.
func (o *old) reports(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	f, err := os.Open(filepath.Join(o.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return decodeAll(t, f)
}

func decodeAll(t *testing.T, r io.Reader) (all []map[string]any) {
	t.Helper()
	d := json.NewDecoder(r)
	for d.More() {
		var v map[string]any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// takt runs today's takt on the old store and spool.
func (o *old) takt(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("takt", args...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+o.dir, "XDG_STATE_HOME="+o.dir, "TAKT_STORE="+o.store())
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("takt %s: %v: %s", strings.Join(args, " "), err, said.String())
	}
	return out
}

// checkStore opens the store, sends it what waits in the spool, and recovers the killed runs.
func (o *old) checkStore(t *testing.T) {
	o.takt(t, "store", "sync")
	o.takt(t, "runs", "-n", "1000")
	now := map[string]bool{}
	for _, r := range decodeAll(t, bytes.NewReader(o.takt(t, "store", "export"))) {
		id := r["id"].(string)
		now[id] = true
		if then, ok := o.then[id]; !ok {
			t.Errorf("run %s was not there", id)
		} else {
			hasAll(t, id, codesOfRecovered(then), r)
		}
	}
	if len(now) != len(o.then) {
		t.Errorf("%d runs are there, %d were", len(now), len(o.then))
	}
	if left, _ := filepath.Glob(filepath.Join(o.dir, "takt/spool/*")); len(left) > 0 {
		t.Errorf("these were not stored: %v", left)
	}
	o.takt(t, "collate", "branch")
	o.takt(t, "merge", "--run-group", "nightly", "-o", "json=merged.json")
}

// checkFiles opens reports that were written to files.
func (o *old) checkFiles(t *testing.T) {
	for _, name := range []string{"loop.json", "capacity.json", "shard1.json", "shard2.json"} {
		var written bytes.Buffer
		written.Write(o.takt(t, "show", name, "-o", "json"))
		hasAll(t, name, o.reports(t, name)[0], decodeAll(t, &written)[0])
	}
	o.takt(t, "merge", "shard1.json", "shard2.json", "-o", "json=whole.json")
	o.takt(t, "store", "import", "--store", "new.db", "runs.ndjson")
	o.takt(t, "show", "loop.json", "-o", "hlog=now.hlog")
	then, now := logLines(t, filepath.Join(o.dir, "loop.hlog")), logLines(t, filepath.Join(o.dir, "now.hlog"))
	if !slices.Equal(then, now) {
		t.Errorf("the log of histograms was\n%s\nand is\n%s", strings.Join(then, "\n"), strings.Join(now, "\n"))
	}
}

// logLines reads a log of histograms with the library of HdrHistogram, which others use. A log
// that is written during the run has times that differ by some ms from those of the report.
func logLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := hdrhistogram.NewHistogramLogReader(f)
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %d, p50 %d, max %d", h.Tag(), h.TotalCount(), h.ValueAtPercentile(50), h.Max()))
	}
	if len(lines) == 0 {
		t.Errorf("%s has no histogram", path)
	}
	return lines
}

// checkSettings reads a file of settings.
func (o *old) checkSettings(t *testing.T) {
	var url string
	for _, w := range o.reports(t, "loop.json")[0]["command"].([]any) {
		if strings.HasPrefix(w.(string), "http://") {
			url = w.(string)
		}
	}
	text := string(o.takt(t, "config", "http", "--config", "http.conf", url))
	for _, line := range []string{"rate = 500/s", "duration = 10s", "assert = p99<1s"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in the settings:\n%s", line, text)
		}
	}
}

// codesOfRecovered leaves the codes of a recovered run's warnings: today's takt makes that report from the
// journal, so it judges the run and words the warnings.
func codesOfRecovered(r map[string]any) map[string]any {
	list, _ := r["warnings"].([]any)
	isRecovered := func(w any) bool { return w.(map[string]any)["code"] == "recovered" }
	if slices.ContainsFunc(list, isRecovered) {
		for _, w := range list {
			maps.DeleteFunc(w.(map[string]any), func(name string, _ any) bool { return name != "code" })
		}
	}
	return r
}

// hasAll checks that now has all that then has.
func hasAll(t *testing.T, at string, then, now any) {
	t.Helper()
	switch then := then.(type) {
	case map[string]any:
		m, ok := now.(map[string]any)
		if !ok {
			t.Errorf("%s was %v and is %v", at, then, now)
			return
		}
		for name, v := range then {
			hasAll(t, at+"."+name, v, m[name])
		}
	case []any:
		list, ok := now.([]any)
		if !ok || len(list) != len(then) {
			t.Errorf("%s was %v and is %v", at, then, now)
			return
		}
		for i, v := range then {
			hasAll(t, fmt.Sprintf("%s[%d]", at, i), v, list[i])
		}
	default:
		if !reflect.DeepEqual(then, now) {
			t.Errorf("%s was %v and is %v", at, then, now)
		}
	}
}
