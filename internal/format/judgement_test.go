package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// runOf is a run with these figures, of p50, p99, errors, rate and max RSS.
func runOf(id, revision string, p50, p99, errors, rate, rss float64) stored.Run {
	return stored.Run{
		ID: id, Kind: "http", Labels: map[string]string{"revision": revision}, Settings: stored.NewSettings(nil, ""),
		Figures: stored.Figures{Names: []string{"p50", "p99", "errors", "rate", "max_rss"}, Values: []float64{p50, p99, errors, rate, rss}},
	}
}

// sides are n runs of two revisions: the head's p99 is 20 % worse, its p50 11 % better.
func sides(n int) (base, head []stored.Run) {
	for i := range n {
		v := 1 + float64(i%3)/500
		base = append(base, runOf(fmt.Sprint("01BASE", i), "02fe43b0d3a5c0e5b0a0a6f2c7a3d6b1f4e58a90", 900, 4000*v, 0, 500, 1<<20))
		head = append(head, runOf(fmt.Sprint("01HEAD", i), "c961d664fbe5893d523bd9077be64617f57a96e7", 800*v, 4800, 0.02*v, 500/v, 2<<20))
	}
	return base, head
}

func judged(t *testing.T, pairs int, change func(head []stored.Run)) verify.Judgement {
	t.Helper()
	base, head := sides(pairs)
	if change != nil {
		change(head)
	}
	j, err := verify.Verify(base, head, true, verify.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// judgements are one of each verdict, and one whose names are up to mischief.
func judgements(t *testing.T) map[string]verify.Judgement {
	j := judged(t, 8, nil)
	hostile := judged(t, 8, nil)
	hostile.Head.Name, hostile.Comparisons[0].Base.Name = "<b>|@everyone\x1b[31m", "]]>\n\"&"
	hostile.Advice = []string{"see #1 | <script>"}
	return map[string]verify.Judgement{
		"regressed":    j,
		"inconclusive": judged(t, 4, nil),
		"ok": judged(t, 8, func(head []stored.Run) {
			for i := range head {
				head[i].Figures.Values[1] = 4000
			}
		}),
		"hostile": hostile,
		"duet":    duetted(t),
	}
}

// duetted is a duet whose head takes 1.1 ms and base 1 ms.
func duetted(t *testing.T) verify.Judgement {
	t.Helper()
	const ms = time.Millisecond
	d, err := verify.NewDuet(verify.DuetParts{Block: 50 * ms}, time.Minute, "http", verify.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	d.Guard = 5 * ms
	r := verify.DuetRound{Deal: verify.Deal{Block: 50 * ms, Seed: 1}, Guard: d.Guard, End: 15 * time.Second}
	for due := time.Duration(0); due < r.End; due += 10 * ms {
		side := r.Side(r.Number(due))
		op := verify.DuetOp{Due: due, Done: due + ms + time.Duration(side)*ms/10}
		if side == verify.DuetHead && due < 100*ms {
			op.Lag = 2 * ms
		}
		r.Ops[side] = append(r.Ops[side], op)
	}
	d.Add(r)
	return *d.Next(true).Judgement
}

func judgementAs(t *testing.T, j verify.Judgement, name string, color bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Judgement(&b, j, name, color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJudgementGolden(t *testing.T) {
	for name, j := range judgements(t) {
		for _, f := range format.Judgements() {
			if f == "html" || f == format.Folded { // have tests of their own
				continue
			}
			golden(t, filepath.Join("testdata", "judgement", name+"."+f), judgementAs(t, j, f, false))
		}
	}
	golden(t, filepath.Join("testdata", "judgement", "regressed.color"), judgementAs(t, judgements(t)["regressed"], "text", true))
}

func TestJudgementJSONComesBack(t *testing.T) {
	for name, j := range judgements(t) {
		var back map[string]any
		if err := json.Unmarshal([]byte(judgementAs(t, j, "json", false)), &back); err != nil {
			t.Fatal(err)
		}
		if back["verdict"] != string(j.Verdict) || len(back["comparisons"].([]any)) != len(j.Comparisons) || reflect.TypeOf(back["advice"]).Kind() != reflect.Slice {
			t.Errorf("%s: %v", name, back)
		}
	}
}

// The suite counts its cases, and everything in it is XML.
func TestJUnitCounts(t *testing.T) {
	for name, j := range judgements(t) {
		var suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Cases    []struct {
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		}
		if err := xml.Unmarshal([]byte(judgementAs(t, j, "junit", false)), &suite); err != nil {
			t.Fatal(err)
		}
		failures, errors := 0, 0
		for _, c := range suite.Cases {
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errors++
			}
		}
		if suite.Tests != 4 || len(suite.Cases) != 4 || failures != suite.Failures || errors != suite.Errors ||
			(failures > 0) != (j.Verdict == verify.Regressed) || (errors > 0) != (j.Verdict == verify.Inconclusive) {
			t.Errorf("%s, %s: %+v", name, j.Verdict, suite)
		}
	}
}

// A label steers no terminal, breaks no table and mentions nobody.
func TestJudgementOfHostileNames(t *testing.T) {
	j := judgements(t)["hostile"]
	if s := judgementAs(t, j, "text", false); strings.ContainsAny(s, "\x1b\r") || !utf8.ValidString(s) {
		t.Errorf("text %q", s)
	}
	md := judgementAs(t, j, "markdown", false)
	for _, bad := range []string{"<b>", "@everyone", "<script>", "#1"} {
		if strings.Contains(md, bad) {
			t.Errorf("markdown has %s:\n%s", bad, md)
		}
	}
	for line := range strings.Lines(md) {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 0 && n != 8 {
			t.Errorf("a row has %d bars: %s", n, line)
		}
	}
}

func TestContrastGolden(t *testing.T) {
	base, head := sides(6)
	head[0].Unfit = "it broke off"
	head[1].Settings = stored.NewSettings(map[string]any{"connections": 5}, "")
	c, err := verify.Compare(base, head, verify.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	c.Overlay = []verify.Overlay{{Latency: "response", Points: []verify.OverlayPoint{
		{Quantile: 0, Base: 500, Head: 500}, {Quantile: 0.5, Base: 900, Head: 800}, {Quantile: 0.99, Base: 4000, Head: 4800}, {Quantile: 0.999, Base: 8000, Head: 90e3}, {Quantile: 1, Base: 9e3, Head: 100e3},
	}}}
	for _, f := range []string{"text", "json", "markdown"} {
		var b bytes.Buffer
		if err := format.Contrast(&b, format.Contrasted{Contrast: c}, f, false); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "judgement", "contrast."+f), b.String())
	}
}

// Bytes are decimal, as in collate and in filters.
func TestAmountOfBytes(t *testing.T) {
	for v, want := range map[float64]string{0: "0 B", 812: "812 B", 999.7: "1 kB", 1000: "1 kB", 1 << 20: "1.05 MB", 7.5e6: "7.5 MB", 432.9e9: "433 GB", 5e15: "5000 TB"} {
		if got := page.Amount(stored.Bytes, v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
		if got := page.Amount(stored.BytesPerSecond, v); got != want+"/s" {
			t.Errorf("%v: %s, want %s/s", v, got, want)
		}
	}
}

func TestUnknownJudgementFormat(t *testing.T) {
	const want = `unknown format "xml"; use one of text, json, junit, markdown, html, folded`
	if err := format.Judgement(&bytes.Buffer{}, verify.Judgement{}, "xml", false); err == nil || err.Error() != want || format.CheckJudgement("junit") != nil {
		t.Errorf("%v, want %s", err, want)
	}
	if err := format.Contrast(&bytes.Buffer{}, format.Contrasted{}, "junit", false); err == nil || !strings.Contains(err.Error(), "text, json, markdown") {
		t.Errorf("contrast as junit: %v", err)
	}
}

// A regressed metric names the commit that a bisection found.
func TestJUnitNamesTheCommit(t *testing.T) {
	suspect := verify.Suspect{Commit: verify.Commit{Hash: "0123456789abcdef", Subject: "a <slow> loop"}}
	for found, want := range map[bool]string{
		true:  "; first worse commit: 0123456789 (a &lt;slow&gt; loop)",
		false: "; first worse commit not found, likely: 0123456789 (a &lt;slow&gt; loop)",
	} {
		j := verify.Judgement{
			Comparisons: []verify.Comparison{{Findings: []verify.Finding{{Metric: "p50", Verdict: verify.Regressed}, {Metric: "p99", Verdict: verify.Regressed}}}},
			Bisect:      []verify.Culprit{{Metric: "p50", Found: found, Commits: []verify.Suspect{suspect}}},
		}
		if got := judgementAs(t, j, "junit", false); strings.Count(got, want) != 1 {
			t.Errorf("%s\nwant %s once", got, want)
		}
	}
}

// The text says at which look a series ended, or that its time was over before.
func TestLooksAreTold(t *testing.T) {
	for look, want := range map[int]string{0: ", at most 12 looks", 1: ", after the 1st of at most 12 looks", 2: ", after the 2nd of", 3: ", after the 3rd of", 4: ", after the 4th of", 11: ", after the 11th of"} {
		if got := judgementAs(t, verify.Judgement{Look: look, Looks: 12}, "text", false); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
