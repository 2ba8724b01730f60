package schedule

import (
	"errors"
	"flag"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for in, want := range map[string]float64{
		"500/s": 500, "500": 500, "30/m": 0.5, "0.5/s": 0.5, ".5": 0.5, "2k/s": 2000, "1.5k/s": 1500, "1M/s": 1e6,
		"10/h": 10.0 / 3600, "2k": 2000, "60k/m": 1000, "2.01k/s": 2010, "1000M/s": 1e9, "max": math.Inf(1), "0.000000001": 1e-9,
	} {
		if got, err := ParseRate(in); got != want || err != nil {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                                 `rate "": empty; give a rate such as 500/s`,
		"0":                                `rate "0": at rate 0 no operation is ever due; give a rate above 0 such as 500/s, or max for as fast as possible`,
		"0/s":                              "no operation is ever due",
		"-5/s":                             `rate "-5/s": the rate is negative; give a rate above 0`,
		"nan":                              "not a number; give a rate such as",
		"inf":                              "not a number",
		"-inf":                             "not a number",
		"1e3":                              "not a number",
		"0x10/s":                           "not a number",
		"1_000":                            "not a number",
		"1.2.3":                            "not a number",
		"500 / s":                          "unknown unit",
		"/s":                               "not a number",
		"k/s":                              "not a number",
		"5/":                               "unknown unit after the slash; give /s, /m or /h",
		"5/ms":                             "unknown unit",
		"5/s/s":                            "unknown unit",
		"5m/s":                             "the letter m is no factor; give M for a million, or /m for a minute",
		"1001M/s":                          "the clock's resolution; at most 1000M/s",
		"Max":                              "not a number",
		"0.0000000001":                     "32 years",
		strings.Repeat("9", 400):           "beyond all bounds",
		strings.Repeat("x", 1000) + "/sec": strings.Repeat("x", 64) + `…": unknown unit`,
	} {
		_, err := ParseRate(in)
		checkError(t, in, err, want)
	}
}

// checkError wants an *InputError that contains want, in house style.
func checkError(t *testing.T, in string, err error, want string) {
	t.Helper()
	var e *InputError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("%.80q: error %v, want %q in it", in, err, want)
		return
	}
	if e.Cause == "" || e.Hint == "" || e.What == "" || strings.HasSuffix(err.Error(), ".") {
		t.Errorf("%.80q: %#v lacks something", in, e)
	}
}

func TestParseRamp(t *testing.T) {
	for in, want := range map[string][2]float64{
		"100/s..2k/s": {100, 2000}, "100..2k": {100, 2000}, "0..600/m": {0, 10}, "2k/s..0/s": {2000, 0},
		"0.5/s..1.5/s": {0.5, 1.5}, "60/m .. 7200/h": {1, 2}, "100..2k/s": {100, 2000},
	} {
		if from, to, err := ParseRamp(in); from != want[0] || to != want[1] || err != nil {
			t.Errorf("ParseRamp(%q) = %v, %v, %v, want %v", in, from, to, err, want)
		}
	}
	for in, want := range map[string]string{
		"100/s":       `ramp "100/s": no .. between two rates; give a ramp such as 100/s..2k/s`,
		"0..0":        "no operation is ever due",
		"..":          `rate "": empty`,
		"1..x":        `rate "x": not a number`,
		"10..600/m":   "only one of the two rates has a unit; give both theirs",
		"10/m..1":     "only one of the two rates has a unit",
		"1..10/m":     "only one of the two rates has a unit",
		"10/s..max":   "closed loop",
		"max..10/s":   "closed loop",
		"1..-2":       "negative",
		"1..2000M":    "clock's resolution",
		"1/s..2/s..3": "unknown unit",
	} {
		_, _, err := ParseRamp(in)
		checkError(t, in, err, want)
	}
}

func TestParseStages(t *testing.T) {
	got, err := ParseStages("30s@100/s,1m@100/s..2k/s, 10@0 , 0.5@2k/s")
	want := []Stage{{30 * time.Second, 100, 100}, {time.Minute, 100, 2000}, {10 * time.Second, 0, 0}, {time.Second / 2, 2000, 2000}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for in, want := range map[string]string{
		"":                     `stage 1: stage "": no @ between a duration and a rate; give stages such as`,
		"30s":                  "no @",
		"30s@1/s,":             `stage 2: stage "": no @`,
		"30s@1/s,x@1/s":        `stage 2: duration "x": not a duration`,
		"30s@":                 `rate "": empty`,
		"0@1/s":                "the duration is 0",
		"-1s@1/s":              "negative",
		"1s@max":               "closed loop",
		"1s@1..2/m":            "only one of the two rates has a unit",
		"1s@0":                 "no operation is ever due",
		"200y@1":               "not a duration",
		"2000000h@1,900000h@1": "292 years",
		strings.Repeat("1@1,", MaxStages) + "1@1": "more than 10000 stages",
	} {
		_, err := ParseStages(in)
		checkError(t, in, err, want)
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"30": 30 * time.Second, "1m30s": 90 * time.Second, "0.5": 500 * time.Millisecond, "500ms": 500 * time.Millisecond,
		"0": 0, "1.5h": 90 * time.Minute, "0.000000001": 1, ".25": 250 * time.Millisecond, "9000000000": 9e18, "7d": 168 * time.Hour, "0.5d": 12 * time.Hour,
	} {
		if got, err := ParseDuration(in); got != want || err != nil {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":             `duration "": empty; give seconds or a number with units`,
		"-5":           `duration "-5": negative; give 0 or more`,
		"-1m":          "negative",
		"1m30":         `the last number has no unit; give "1m30s" if seconds are meant`,
		"10000000000":  "beyond 292 years",
		"-99999999999": "beyond 292 years",
		"99999999h":    "beyond 292 years",
		"1y":           "not a duration",
		"200000d":      "beyond 292 years",
		"d":            "not a duration",
		"-1d":          "negative",
		"nan":          "not a duration",
		"inf":          "not a duration",
		"1e3":          "no unit",
		".":            "not a duration",
		"-":            "not a duration",
		"0.0000000001": "shorter than a nanosecond",
	} {
		_, err := ParseDuration(in)
		checkError(t, in, err, want)
	}
}

func TestFlags(t *testing.T) {
	d, r := 10*time.Second, 0.0
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Var((*DurationValue)(&d), "duration", "how long")
	fs.Var((*RateValue)(&r), "rate", "how often")
	if fs.Lookup("duration").DefValue != "10s" || fs.Lookup("rate").DefValue != "" {
		t.Error("defaults are not shown")
	}
	if err := fs.Parse([]string{"-duration", "30", "-rate", "2k/s"}); err != nil || d != 30*time.Second || r != 2000 {
		t.Errorf("%v: duration %v, rate %v", err, d, r)
	}
	if s := fs.Lookup("rate").Value.String(); s != "2000/s" {
		t.Errorf("rate is shown as %s", s)
	}
	if fs.Lookup("rate").Value.(flag.Getter).Get() != 2000.0 || fs.Lookup("duration").Value.(flag.Getter).Get() != 30*time.Second {
		t.Error("Get differs")
	}
	for _, args := range [][]string{{"-rate", "0"}, {"-duration", "-1"}} {
		if err := fs.Parse(args); err == nil || d != 30*time.Second || r != 2000 {
			t.Errorf("%v: %v, %v, %v", args, err, d, r)
		}
	}
	fs.PrintDefaults() // calls String on zero values
}

// What any of the parsers accepts is within bounds, valid and written back to
// itself; what it refuses is explained.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"500/s", "30/m", "10/h", "1.5k/s", "1M", "max", "0", "-1", "1e9", "nan", "100/s..2k/s", "0..0",
		"30s@100/s,1m@100/s..2k/s,30s@2k/s", "10@0,1@1", "1h@0.1/h..1", "9@9..,", "30", "0.5", "1m30s", "1m30", "99999999999", "…@", "\xff/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refused := func(err error) bool {
			if err != nil {
				checkError(t, s, err, "")
			}
			return err != nil
		}
		if r, err := ParseRate(s); !refused(err) {
			if back, err := ParseRate(FormatRate(r)); back != r || err != nil || !math.IsInf(r, 1) && (r < MinRate || r > MaxRate) {
				t.Errorf("%q: %v is written as %q, read as %v, %v", s, r, FormatRate(r), back, err)
			}
		}
		if d, err := ParseDuration(s); !refused(err) && d < 0 {
			t.Errorf("%q: %v", s, d)
		}
		if from, to, err := ParseRamp(s); !refused(err) {
			fuzzRun(t, Ramp(from, to, time.Second))
		}
		if stages, err := ParseStages(s); !refused(err) {
			fuzzRun(t, Spec{Stages: stages})
		}
	})
}

// fuzzRun takes the first operations of s by both processes.
func fuzzRun(t *testing.T, s Spec) {
	for _, s.Poisson = range []bool{false, true} {
		dues := all(t, s, 100)
		if end := open(t, s).End(); !slices.IsSorted(dues) || len(dues) > 0 && (dues[0] < 0 || dues[len(dues)-1] >= end) {
			t.Errorf("%+v: due at %v, end %v", s, dues, end)
		}
	}
}
