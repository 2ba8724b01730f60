// Package calibratecmd is takt calibrate: what takt and this host add to every latency.
package calibratecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/value"
)

// Bounds of --time. Below 500 ms, the p99 at 1000/s would be the worst value of a hundred.
const (
	calibrateTime    = 5 * time.Second
	minCalibrateTime = 500 * time.Millisecond
	maxCalibrateTime = 10 * time.Minute
)

// calibrator is one run of takt calibrate.
type calibrator struct {
	env    core.Env
	time   time.Duration // total time of all measurements
	asJSON bool
}

// New returns takt calibrate.
func New(env core.Env) *cobra.Command {
	k := &calibrator{env: env, time: calibrateTime}
	c := &cobra.Command{
		Use:   "calibrate [flags]",
		Short: "measure what takt and this host add to every latency",
		Long: `takt calibrate measures how late sleeps end on this host, how long the host
freezes, and the latency that takt reports for a server that answers at once.
For 30 days, reports from this host contain its noise floor.`,
		Example: `  takt calibrate
  takt calibrate --time 30s --json`,
	}
	core.AddFlags(c, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupMeasurement, func(fs *pflag.FlagSet) {
			fs.Var(value.Duration(&k.time), "time", "total `TIME` of the measurements")
		})
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.BoolVar(&k.asJSON, core.JSONFlag, false, "as JSON")
		})
	})
	c.Args = func(cmd *cobra.Command, args []string) error {
		var faults []error
		faults = core.AppendError(faults, core.NoArgs(cmd, args))
		if k.time < minCalibrateTime || k.time > maxCalibrateTime {
			faults = append(faults, value.Faultf("--time is %v; give a time from %v to %v", k.time, minCalibrateTime, maxCalibrateTime))
		}
		return core.Usage(cmd, faults)
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return k.run(cmd.Context()) }
	return c
}

func (k *calibrator) run(ctx context.Context) error {
	fmt.Fprintf(k.env.Stderr, "takt calibrate: for %v; leave the machine alone meanwhile\n", k.time)
	c, err := k.measure(ctx)
	if signal := core.SignalOf(ctx); signal != nil {
		return core.ExitBy(signal, errors.New("stopped before the end, so the calibration is not saved"))
	}
	if err != nil {
		return err
	}
	path, err := keepCalibration(k.env, c)
	if err != nil {
		fmt.Fprintf(k.env.Stderr, "takt: warning: the calibration is not saved: %v\n", err)
	}
	return k.show(c, path)
}

// measure spends a tenth of the time on sleeps, a fifth on spinning, and the rest on loads.
func (k *calibrator) measure(ctx context.Context) (*Calibration, error) {
	c := &Calibration{
		SchemaVersion: calibrationVersion, Takt: core.Version, At: time.Now().UTC().Truncate(time.Second),
		Host: proc.HostClass(), TimeS: k.time.Seconds(),
	}
	c.Sleep = MeasureSleep(ctx, k.time/10)
	c.Spin = measureSpin(ctx, k.time/5)
	var flags []string
	if sock.Available {
		flags = []string{"--null"}
	}
	s, err := StartServer(k.env, flags...)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	c.Loads, err = measureLoads(ctx, s.URL, k.env.Abort, k.time*7/10)
	return c, err
}

func (k *calibrator) show(c *Calibration, path string) error {
	if !k.asJSON {
		return c.write(k.env.Stdout, path)
	}
	e := json.NewEncoder(k.env.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(c)
}
