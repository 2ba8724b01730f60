package calibratecmd_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"

	"github.com/taktload/takt/internal/cli/core"
)

// A signal ends it at once; nothing is kept.
func TestCalibrateStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&core.SignalError{Number: 2})
	dir := t.TempDir()
	var out, errs bytes.Buffer
	e := core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Interrupt: ctx, Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": dir}[name] }}
	code := cli.Main(e, []string{"calibrate", "--time", "10m"})
	files, _ := os.ReadDir(dir)
	if code != 130 || out.Len() > 0 || len(files) > 0 || !strings.Contains(errs.String(), "stopped before the end, so the calibration is not saved") {
		t.Errorf("code %d, %v\n%s%s", code, files, &out, &errs)
	}
}
