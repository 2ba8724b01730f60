package calibratecmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// calibrated is a calibration with round figures.
func calibrated() *Calibration {
	return &Calibration{
		SchemaVersion: calibrationVersion, Takt: "1.2.3", At: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), TimeS: 5,
		Host:  map[string]any{"os": "linux", "arch": "amd64", "cores": 2, "cpu": "Z80"},
		Sleep: SleepNoise{WakeUps: 500, P50: 39.4, P99: 166.2, Max: 1400.4, CPU: 5.126},
		Spin:  spinNoise{DurationS: 1, WorstGap: 1912.3, LongGaps: 50, P99: 43.7},
		Loads: []loadNoise{
			{Engine: "loop", RatePerS: 1000, Operations: 1125, ResponseP50: 89, ResponseP99: 134.82, ResponseP99_9: 2770.9, LagP50: 50.6, LagP99: 533, Verdict: takt.Valid},
			{Engine: "loop", RatePerS: 10000, Operations: 4500, ResponseP50: 88.25, ResponseP99: 135.5, ResponseP99_9: 341.4, LagP50: 63, LagP99: 173.8, Verdict: takt.Valid},
			{Engine: "worker", RatePerS: 1000, Operations: 1125, ResponseP50: 47.7, ResponseP99: 1838.1, ResponseP99_9: 3967, LagP50: 0, LagP99: 1756.2, Verdict: takt.Invalid},
		},
	}
}

func TestCalibrationTable(t *testing.T) {
	const want = `host         linux/amd64, 2 cores, Z80
sleep        500 at 1000/s woke late by p50 39.4µs, p99 166µs, max 1.4ms; 5.13µs of CPU each
spin         froze for up to 1.91ms in 1.0 s, 50 times for more than 100µs; saw 100000/s late by p99 43.7µs

null server, µs     response                  schedule lag
                         p50       p99     p99.9       p50       p99
1000/s, loop            89.0     134.8    2770.9      50.6     533.0
10000/s, loop           88.2     135.5     341.4      63.0     173.8
1000/s, worker          47.7    1838.1    3967.0       0.0    1756.2
  INVALID: takt was late; run it again when nothing else uses the machine

noise floor  135µs with the loop engine, 1.84ms with the worker engine: response p99 at 1000/s
`
	for path, last := range map[string]string{"": "", "/s/c.json": "kept         /s/c.json, for reports of this host until 2026-12-01\n"} {
		var got strings.Builder
		if err := calibrated().write(&got, path); err != nil || got.String() != want+last {
			t.Errorf("%v\n%s\nwant\n%s", err, &got, want+last)
		}
	}
}

func TestNoiseFloorIsTheEngines(t *testing.T) {
	c := calibrated()
	for engine, want := range map[string]float64{"loop": 134.82, "worker": 1838.1, "async": 1838.1} {
		if got := c.floor(engine); got != want {
			t.Errorf("%s: %v, want %v", engine, got, want)
		}
	}
	c.Loads = c.Loads[:2]
	if got := c.floor("async"); got != 0 {
		t.Errorf("nothing was measured of it: %v", got)
	}
	if got := (*Calibration)(nil).floor("loop"); got != 0 {
		t.Errorf("without a calibration: %v", got)
	}
}

// A p50 of less than twice the floor is doubtful.
func TestBelowFloor(t *testing.T) {
	for _, x := range []struct {
		p50   float64
		count uint64
		want  string
	}{
		{269.64, 10, ""},
		{269.6, 10, "response p50 is 270µs, less than 2 times the noise floor of this host, which is 135µs (a server that takes no time, p99 at 1000/s): takt and the host are a large part of it"},
		{0, 0, ""}, // nothing ended
	} {
		r := &takt.Report{Generator: takt.Generator{Engine: "loop"}, Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: x.count, P50: x.p50}}}
		calibrated().NoteFloor(r)
		want := x.want == "" && r.Warnings == nil
		if x.want != "" {
			want = len(r.Warnings) == 1 && r.Warned(warn.BelowFloor) && r.Warnings[0].Message == x.want && r.Warnings[0].Fields[0].Value == x.p50
		}
		if !want || r.Generator.NoiseFloorUS != 134.82 {
			t.Errorf("p50 %v: %v, floor %v; want %s", x.p50, r.Warnings, r.Generator.NoiseFloorUS, x.want)
		}
	}
}

func TestCalibrationHolds(t *testing.T) {
	for name, x := range map[string]struct {
		after time.Duration
		host  func(*Calibration)
		want  bool
	}{
		"now":               {0, nil, true},
		"after 30 days":     {30 * 24 * time.Hour, nil, true},
		"after more":        {30*24*time.Hour + time.Second, nil, false},
		"the clock is back": {-2 * time.Hour, nil, false},
		"other host":        {0, func(c *Calibration) { c.Host["cores"] = 4.0 }, false},
		"as read from JSON": {0, func(c *Calibration) { c.Host["cores"] = 2.0 }, true},
		"other version":     {0, func(c *Calibration) { c.SchemaVersion++ }, false},
	} {
		c, here := calibrated(), calibrated()
		if x.host != nil {
			x.host(c)
		}
		if got := c.holds(here.At.Add(x.after), here.Host); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// home is an Env with these variables.
func home(vars map[string]string) core.Env {
	return core.Env{Getenv: func(name string) string { return vars[name] }}
}

func TestCalibrationPath(t *testing.T) {
	for _, x := range []struct{ state, home, want string }{
		{"/s", "/h", "/s/takt/calibration.json"},
		{"", "/h", "/h/.local/state/takt/calibration.json"},
		{"relative", "/h", "/h/.local/state/takt/calibration.json"},
		{"relative", "", ""},
		{"", "relative", ""},
		{"", "", ""},
	} {
		got, err := calibrationPath(home(map[string]string{"XDG_STATE_HOME": x.state, "HOME": x.home}))
		if got != x.want || (err == nil) != (x.want != "") {
			t.Errorf("%+v: %q, %v", x, got, err)
		}
	}
}

func TestCalibrationIsKept(t *testing.T) {
	dir := t.TempDir()
	e := home(map[string]string{"XDG_STATE_HOME": dir})
	if got, err := KeptCalibration(e); got != nil || err != nil {
		t.Errorf("before: %v, %v", got, err)
	}
	c := calibrated() // disturbed, but there is no other
	c.At, c.Host = time.Now().UTC().Truncate(time.Second), proc.HostClass()
	path, err := keepCalibration(e, c)
	if err != nil {
		t.Fatal(err)
	}
	disturbed := *c
	c.Loads = c.Loads[:2]
	if _, err := keepCalibration(e, c); err != nil {
		t.Error(err)
	}
	if _, err := keepCalibration(e, &disturbed); err == nil || !strings.HasPrefix(err.Error(), "takt was late, and the calibration of "+c.At.Format(time.DateOnly)+" is still valid; delete "+path) {
		t.Errorf("disturbed: %v", err)
	}
	got, err := KeptCalibration(e)
	if err != nil || got == nil || !reflect.DeepEqual(got.Loads, c.Loads) || got.Sleep != c.Sleep || !got.At.Equal(c.At) {
		t.Errorf("%+v, %v; want %+v", got, err, c)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left over: %v", files)
	}
	c.At = c.At.Add(-calibrationAge - time.Hour)
	if _, err := keepCalibration(e, c); err != nil {
		t.Fatal(err)
	}
	if got, err := KeptCalibration(e); got != nil || err != nil {
		t.Errorf("old: %v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := KeptCalibration(e); got != nil || err == nil || !strings.Contains(err.Error(), "run takt calibrate again, or delete "+path) {
		t.Errorf("broken: %v, %v", got, err)
	}
	if _, err := keepCalibration(home(map[string]string{"XDG_STATE_HOME": path}), c); err == nil || !strings.Contains(err.Error(), "; set XDG_STATE_HOME") {
		t.Errorf("below a file: %v", err)
	}
}

func TestServerDoesNotStart(t *testing.T) {
	if _, err := StartServer(core.Env{}, "--null"); !errors.Is(err, errNoSelf) {
		t.Errorf("no program: %v", err)
	}
	for _, program := range []string{"true", "false", "echo"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Skip(err)
		}
		_, err = StartServer(core.Env{Executable: func() (string, error) { return path, nil }}, "--null")
		if err == nil || !strings.HasPrefix(err.Error(), "takt target printed \"\" instead of its address; ") {
			t.Errorf("%s: %v", program, err)
		}
	}
}

func TestSleepNoise(t *testing.T) {
	s := MeasureSleep(t.Context(), 50*time.Millisecond)
	if s.WakeUps != 50 || s.P50 > s.P99 || s.P99 > s.Max || s.Max <= 0 || s.CPU < 0 {
		t.Errorf("%+v", s)
	}
	if s := measureSpin(t.Context(), 20*time.Millisecond); s.DurationS < 0.02 || s.WorstGap <= 0 || s.WorstGap > 1e6*s.DurationS || s.P99 <= 0 || s.P99 > s.WorstGap {
		t.Errorf("%+v", s)
	}
}
