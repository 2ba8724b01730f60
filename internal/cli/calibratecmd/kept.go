package calibratecmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

const (
	calibrationVersion = 1
	// calibrationAge is how long a calibration is valid: kernels and neighbours change.
	calibrationAge = 30 * 24 * time.Hour
	// belowFloor: a p50 below this many times the noise floor causes a warning.
	belowFloor = 2
)

// Calibration is the result of takt calibrate, saved for later reports.
type Calibration struct {
	SchemaVersion int            `json:"schema_version"`
	Takt          string         `json:"takt"` // version of takt
	At            time.Time      `json:"calibrated_at"`
	TimeS         float64        `json:"time_s"`
	Host          map[string]any `json:"host"` // class of the host, from proc.HostClass
	Sleep         SleepNoise     `json:"sleep"`
	Spin          spinNoise      `json:"spin"`
	Loads         []loadNoise    `json:"loads"`
}

// floor returns the noise floor of an engine in µs: the p99 of response time at 1000/s against
// a server that answers at once. An engine that was not measured, such as async, gets the noise
// floor of the worker engine. 0: unknown.
func (c *Calibration) floor(engine string) (us float64) {
	if c == nil {
		return 0
	}
	for _, l := range c.Loads {
		switch {
		case l.RatePerS != floorRate:
		case l.Engine == engine:
			return l.ResponseP99
		case l.Engine == "worker":
			us = l.ResponseP99
		}
	}
	return us
}

// quiet reports whether the runs that measured the noise floor are valid.
func (c *Calibration) quiet() bool {
	return !slices.ContainsFunc(c.Loads, func(l loadNoise) bool { return l.RatePerS == floorRate && l.Verdict == takt.Invalid })
}

// holds reports whether c is valid now for this host.
func (c *Calibration) holds(now time.Time, host map[string]any) bool {
	age := now.Sub(c.At)
	here, err := json.Marshal(host)
	there, errThere := json.Marshal(c.Host)
	return err == nil && errThere == nil && bytes.Equal(here, there) &&
		c.SchemaVersion == calibrationVersion && age > -time.Hour && age <= calibrationAge
}

// calibrationPath is the path of the saved calibration.
func calibrationPath(e core.Env) (string, error) {
	return e.UnderHome(core.StateHome, "calibration.json")
}

// keepCalibration replaces the saved calibration by c in one step, because another takt may be
// reading the old one. A disturbed c does not replace a quiet calibration that is still valid.
func keepCalibration(e core.Env, c *Calibration) (path string, err error) {
	if path, err = calibrationPath(e); err != nil {
		return "", err
	}
	if old, _ := KeptCalibration(e); old != nil && old.quiet() && !c.quiet() {
		return "", fmt.Errorf("takt was late, and the calibration of %s is still valid; delete %s to replace it", old.At.Format(time.DateOnly), path)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("%w; set XDG_STATE_HOME to a directory that can be written", err)
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, append(b, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("%w; set XDG_STATE_HOME to a directory that can be written", err)
	}
	return path, os.Rename(fresh, path)
}

// KeptCalibration returns the saved calibration; nil: none is valid for this host now.
func KeptCalibration(e core.Env) (*Calibration, error) {
	path, err := calibrationPath(e)
	if err != nil {
		return nil, nil // without a home directory, none was saved
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var c Calibration
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the calibration: %w; run takt calibrate again, or delete %s", err, path)
	}
	if !c.holds(time.Now(), proc.HostClass()) {
		return nil, nil
	}
	return &c, nil
}

// NoteFloor puts the noise floor into r, and a warning if the figures are near it.
func (c *Calibration) NoteFloor(r *takt.Report) {
	floor := c.floor(r.Generator.Engine)
	r.Generator.NoiseFloorUS = floor
	felt := r.Latency[takt.LatencyResponse]
	if floor == 0 || felt.Count == 0 || felt.P50 >= belowFloor*floor {
		return
	}
	r.Warn(warn.BelowFloor, "response p50 is %s, less than %d times the noise floor of this host, which is %s (a server that takes no time, p99 at %d/s): takt and the host are a large part of it",
		figure.Latency("response_p50", felt.P50), belowFloor, figure.Latency("noise_floor", floor), floorRate)
}
