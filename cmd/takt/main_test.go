package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/cmd/takt/early"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

func TestMain(m *testing.M) {
	// With the race detector each process waits for a second at its end, to report races of
	// goroutines that still run. takt has none then, so this saves a minute.
	_ = os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	testscript.Main(tests{m}, map[string]func(){"takt": main})
}

// tests are stopped by a signal, which takt has caught.
type tests struct{ *testing.M }

// Run implements testscript.TestingM.
func (t tests) Run() int {
	early.Signals.Release()
	return t.M.Run()
}

// TestScripts runs takt as its users see it: stdout, stderr, exit code, files that remain.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Dir:           "testdata/script",
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return racetest.On, nil
			case "timing":
				return os.Getenv("TAKT_TIMING") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"target":  cmdTarget,
			"beside":  cmdBeside,
			"exits":   cmdExits,
			"closed":  cmdClosed,
			"during":  cmdDuring,
			"report":  cmdReport,
			"replace": cmdReplace,
			"type":    cmdType,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("XDG_DATA_HOME", e.WorkDir+"/.data")
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.state")
			e.Values[runningKey{}] = &running{}
			return nil
		},
	})
}

type runningKey struct{}

// running is the current target of a script; there is one at a time.
type running struct {
	server *target.Server
	stop   func()
}

func targetOf(ts *testscript.TestScript) *running { return ts.Value(runningKey{}).(*running) }

// cmdTarget is "target [flags]": serve as takt target does, on a free port, and set $URL and $HOST.
// "target down" ends the target, so that $URL refuses connections.
func cmdTarget(ts *testscript.TestScript, _ bool, args []string) {
	r := targetOf(ts)
	if r.stop != nil {
		r.stop()
	}
	if len(args) == 1 && args[0] == "down" {
		return
	}
	server, stop, err := targettest.Start(targetOptions(ts, args))
	ts.Check(err)
	r.server = server
	r.stop = func() {
		if err := stop(); err != nil {
			ts.Logf("target: %v", err)
		}
		r.stop = nil
	}
	ts.Defer(func() {
		if r.stop != nil {
			r.stop()
		}
	})
	ts.Setenv("URL", server.URL())
	ts.Setenv("HOST", strings.TrimPrefix(server.URL(), "http://"))
}

// cmdBeside is "beside NAME [flags]": serve one more target, until the script ends,
// and set $NAME to its URL.
func cmdBeside(ts *testscript.TestScript, _ bool, args []string) {
	server, stop, err := targettest.Start(targetOptions(ts, args[1:]))
	ts.Check(err)
	ts.Defer(func() { ts.Check(stop()) })
	ts.Setenv(args[0], server.URL())
}

func targetOptions(ts *testscript.TestScript, args []string) (o target.Options) {
	fs := pflag.NewFlagSet("target", pflag.ContinueOnError)
	o.AddFlags(fs)
	ts.Check(fs.Parse(args))
	return o
}

// cmdExits is "exits CODE command…": run the command and demand this exit code, or with "!" any
// other one.
func cmdExits(ts *testscript.TestScript, other bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	if !other {
		checkCode(ts, args[0], err)
		return
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && strconv.Itoa(exit.ExitCode()) == args[0] {
		ts.Fatalf("exit code %s", args[0])
	}
}

// cmdClosed is "closed CODE takt…": like exits, but the reader of standard output has closed it.
func cmdClosed(ts *testscript.TestScript, _ bool, args []string) {
	path, err := lookTakt(ts, args[1])
	ts.Check(err)
	read, write, err := os.Pipe()
	ts.Check(err)
	ts.Check(read.Close())
	defer write.Close()
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.Getenv("WORK"), environ(ts), write, ts.Stderr()
	checkCode(ts, args[0], cmd.Run())
}

func checkCode(ts *testscript.TestScript, want string, err error) {
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// patience limits the wait for something that happens soon even on the slowest machine.
const patience = 2 * time.Minute

// cmdDuring is "during ACTIONS CODE takt…": run takt, do ACTIONS after the target's first request,
// and demand this exit code. ACTIONS are INT, TERM, HUP, QUIT, KILL (exit code -1), down (end the
// target), freeze (stop takt for 0.3 s) and more (wait for 100 more requests). Before each further action
// but more the test waits for a second without requests, so that takt has seen the signal before: pending
// signals have no order.
func cmdDuring(ts *testscript.TestScript, _ bool, args []string) {
	actions, code := strings.Split(args[0], ","), args[1]
	cmd := exec.Command(args[2], args[3:]...)
	path, err := lookTakt(ts, args[2])
	ts.Check(err)
	cmd.Path, cmd.Err = path, nil
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), environ(ts)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	requests := func() uint64 { return targetOf(ts).server.Truth().Counts.Requests }
	before := requests()
	ts.Check(cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	for start := time.Now(); requests() == before && time.Since(start) < patience; {
		time.Sleep(time.Millisecond)
	}
	for i, action := range actions {
		if action == "more" {
			for enough, start := requests()+100, time.Now(); requests() < enough; time.Sleep(time.Millisecond) {
				if time.Since(start) > patience {
					ts.Fatalf("100 more requests did not come within %v", patience)
				}
			}
			continue
		}
		for seen := before; i > 0 && actions[i-1] != "more" && requests() != seen; time.Sleep(time.Second) {
			seen = requests()
		}
		ts.Check(act(targetOf(ts), cmd.Process, action))
	}
	err = cmd.Wait()
	_, _ = ts.Stdout().Write(stdout.Bytes())
	_, _ = ts.Stderr().Write(stderr.Bytes())
	ts.Logf("[stdout]\n%s[stderr]\n%s", &stdout, &stderr)
	checkCode(ts, code, err)
}

// environ is the environment of a command that the script does not start with exec. It keeps stored
// runs in the script's own folders.
func environ(ts *testscript.TestScript) []string {
	list := os.Environ()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_STATE_HOME", "PATH", "URL"} {
		list = append(list, name+"="+ts.Getenv(name))
	}
	return list
}

// lookTakt finds the command in the script's PATH, where testscript has put it.
func lookTakt(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if path := dir + "/" + name; exec.Command(path).Err == nil {
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("no %s in PATH", name)
}

func act(r *running, p *os.Process, action string) error {
	switch action {
	case "INT":
		return p.Signal(syscall.SIGINT)
	case "TERM":
		return p.Signal(syscall.SIGTERM)
	case "HUP":
		return p.Signal(syscall.SIGHUP)
	case "QUIT":
		return p.Signal(syscall.SIGQUIT)
	case "KILL":
		return p.Kill()
	case "down":
		r.stop()
		return nil
	case "freeze":
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond) // takt sends what is due meanwhile too late
		return p.Signal(syscall.SIGCONT)
	}
	return fmt.Errorf("unknown action %q", action)
}

// cmdReplace is "replace OLD NEW FILE".
func cmdReplace(ts *testscript.TestScript, _ bool, args []string) {
	old := ts.ReadFile(args[2])
	changed := strings.ReplaceAll(old, args[0], args[1])
	if old == changed {
		ts.Fatalf("%s is not in %s", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(changed), 0o666))
}

// cmdReport is "report FILE [ASSERTION…]": the file contains a complete report whose counts add up,
// and the assertions pass.
func cmdReport(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	var r takt.Report
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	ts.Check(d.Decode(&r))
	ts.Check(checkFields(text))
	c := r.Counts
	if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		ts.Fatalf("the counts do not add up: %+v", c)
	}
	if n := r.Latency[takt.LatencyResponse].Count; n != c.OK+c.Failed+c.Unfinished {
		ts.Fatalf("the response time has %d operations, the counts are %+v", n, c)
	}
	for _, s := range args[1:] {
		a, err := assert.ParseAssertion(s)
		ts.Check(err)
		if o := a.Check(&r); o.Result != takt.Pass {
			ts.Fatalf("%v", o)
		}
	}
}

// checkFields reports a missing field that the schema requires. Package format tests reports against
// the rest of the schema.
func checkFields(text string) error {
	var schema struct{ Required []string }
	var fields map[string]json.RawMessage
	described, err := os.ReadFile(filepath.Join("..", "..", "internal", "format", "schema", "report-v1.schema.json"))
	if err := errors.Join(err, json.Unmarshal(described, &schema), json.Unmarshal([]byte(text), &fields)); err != nil {
		return err
	}
	for _, name := range schema.Required {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("the report has no %s", name)
		}
	}
	return nil
}
