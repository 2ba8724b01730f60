package jms

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// followed is a follower whose run of two seconds, of which one was warm-up, is over.
func followed(t *testing.T, o *Options, out *bytes.Buffer) {
	t.Helper()
	w := o.Watch(out)
	if err := o.follower.open(o); err != nil {
		t.Fatal(err)
	}
	m := newMeter(time.Second, true)
	o.follower.follow(m)
	for second := range 3 {
		measured := second > 0
		for i := range 27_366 {
			m.delay.add(time.Duration(i%100)*time.Microsecond, measured)
			m.ack.add(time.Duration(1000+i%1000)*time.Microsecond, measured)
			m.transfer.add(time.Duration(2000+i%1000)*time.Microsecond, measured)
		}
		m.sent.Add(27_366)
		m.blocked.Add(361)
		m.completed.Add(27_305)
		m.received.Add(26_195)
		if second < 2 {
			w.Second(live.Snapshot{Interval: takt.Interval{T: float64(second + 1), Warmup: second == 0}})
		}
	}
	w.Second(live.Snapshot{Interval: takt.Interval{T: 2.1}})
	w.End(nil)
}

// The words are artemis perf's, to the space.
func TestNarrate(t *testing.T) {
	o := NewClient()
	o.ShowLatency, o.window.rated = true, true
	o.Broker.broker = broker{scheme: "tcp", addr: "localhost:61616"}
	var out bytes.Buffer
	followed(t, o, &out)
	want, err := os.ReadFile("testdata/perf.txt") // its form was compared with a run of artemis perf 2.44
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

// What a command does not do is not in its words.
func TestNarrateParts(t *testing.T) {
	for _, c := range []struct {
		o          *Options
		has, lacks []string
	}{
		{NewProducer(), []string{"--- sent:", "total completed:", "aggregated send time:"}, []string{"received", "transfer", "delay"}},
		{NewConsumer(), []string{"--- received:", "aggregated transfer time:"}, []string{"sent", "blocked", "send"}},
	} {
		var out bytes.Buffer
		followed(t, c.o, &out)
		for _, word := range c.has {
			if !strings.Contains(out.String(), word) {
				t.Errorf("no %q in %s", word, out.String())
			}
		}
		for _, word := range c.lacks {
			if strings.Contains(out.String(), word) {
				t.Errorf("%q in %s", word, out.String())
			}
		}
	}
	var out bytes.Buffer
	o := NewClient()
	o.Silent = true
	if followed(t, o, &out); out.Len() > 0 {
		t.Errorf("silent, but: %s", out.String())
	}
}

// The files have artemis perf's shape, and whatever came.
func TestFiles(t *testing.T) {
	o := NewClient()
	o.window.rated = true
	o.JSON, o.HDR = filepath.Join(t.TempDir(), "o.json"), filepath.Join(t.TempDir(), "o.hdr")
	followed(t, o, &bytes.Buffer{})
	text, err := os.ReadFile(o.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil || len(list) != 4 {
		t.Fatalf("%v in %s", err, text)
	}
	if s := list[3]; s["sampleType"] != "summary" || s["result"] != "success" || s["totalSent"] != 3*27_366.0 || s["totalBlocked"] != 3*361.0 {
		t.Errorf("%v", s)
	}
	d := list[1]["sendTime"].(map[string]any)
	if list[1]["delayed"] != 361.0 || list[1]["warmup"] != false || list[0]["warmup"] != true || d["mean"] != "1495.27" ||
		d["50"] != 1494.0 || d["99.99"] == nil || d["99.9"] == nil || d["count"] != 27_366.0 {
		t.Errorf("%v", list[1])
	}
	checkHDR(t, o.HDR)
}

func checkHDR(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "#[Histogram log format version 1.3]\n\"StartTimestamp\"") || strings.Count(string(text), "Tag=warmup-send,") != 1 {
		t.Error(string(text))
	}
	r := hdrhistogram.NewHistogramLogReader(f)
	var tags []string
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		tags = append(tags, h.Tag())
		if h.Tag() == "send" && (h.TotalCount() != 27_366 || h.ValueAtPercentile(50) != 1494) {
			t.Errorf("%d values, median %d", h.TotalCount(), h.ValueAtPercentile(50))
		}
	}
	if got := strings.Join(tags, " "); got != "warmup-delay-send warmup-send warmup-transfer delay-send send transfer delay-send send transfer" {
		t.Error(got)
	}
}

func TestFilesCannotBeWritten(t *testing.T) {
	o := NewClient()
	o.JSON = filepath.Join(t.TempDir(), "no", "such", "folder")
	o.Watch(&bytes.Buffer{})
	if err := o.follower.open(o); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
