package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/store/storetest"
)

// savesInto makes of this test's binary a process that saves into that file until it
// is killed, or savesCount reports; it prints each id once it is saved.
const (
	savesInto  = "TAKT_TEST_SAVES_INTO"
	savesSeed  = "TAKT_TEST_SAVES_SEED"
	savesCount = "TAKT_TEST_SAVES_COUNT"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(savesInto); path != "" {
		if err := saveOn(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func saveOn(path string) error {
	seed, _ := strconv.ParseUint(os.Getenv(savesSeed), 10, 64)
	count, _ := strconv.Atoi(os.Getenv(savesCount))
	s, err := Open(context.Background(), path)
	if err != nil {
		return err
	}
	for i := range count {
		r := storetest.Reports(seed<<32+uint64(i), 1)[0]
		r.ID = fmt.Sprintf("%d-%d", seed, i)
		if err := s.Save(context.Background(), r); err != nil {
			return err
		}
		fmt.Println(r.ID)
	}
	return s.Close()
}

// saver starts such a process.
func saver(t *testing.T, path string, seed, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), savesInto+"="+path, fmt.Sprint(savesSeed, "=", seed), fmt.Sprint(savesCount, "=", count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// A process that is killed while it saves loses nothing of what it has said to be
// saved, and leaves a store that is whole. TAKT_SOAK=N kills N times.
func TestKilled(t *testing.T) {
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("TAKT_SOAK")); err == nil {
		kills = n
	}
	path := filepath.Join(t.TempDir(), "runs.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	said := map[string]bool{}
	for kill := range kills {
		cmd, out := saver(t, path, kill, 10_000)
		// From the very start, when the tables are made, to some tens of reports.
		time.AfterFunc(time.Duration(random.Int64N(int64(300*time.Millisecond))), func() { cmd.Process.Kill() })
		for out.Scan() {
			if id := out.Text(); strings.HasPrefix(id, fmt.Sprint(kill, "-")) {
				said[id] = true
			}
		}
		cmd.Wait() // the error is that it was killed
		whole(t, path, said, fmt.Sprint(kill, "-"))
		if t.Failed() {
			t.Fatalf("after kill %d", kill)
		}
	}
	if t.Logf("%d kills, %d runs saved", kills, len(said)); len(said) == 0 {
		t.Error("nothing was saved before the kills")
	}
}

// whole says whether the store is sound and has the runs, and of each whose id begins
// so the report.
func whole(t *testing.T, path string, said map[string]bool, begins string) {
	t.Helper()
	s := at(t, path, pragmas...)
	defer s.Close()
	var ok string
	if err := s.db.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity_check: %s, %v", ok, err)
	}
	listed := map[string]bool{}
	var last []string
	for r, err := range s.Runs(t.Context(), analysis.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed[r.ID] = true
		if strings.HasPrefix(r.ID, begins) {
			last = append(last, r.ID)
		}
	}
	for id := range said {
		if !listed[id] {
			t.Errorf("run %s was saved and is lost", id)
		}
	}
	if _, err := s.Load(t.Context(), last...); err != nil {
		t.Error(err)
	}
}

// Processes that write at once lose nothing, also when each finds no store yet.
func TestProcesses(t *testing.T) {
	const n, each = 3, 40
	path := filepath.Join(t.TempDir(), "runs.db")
	var outs []*bufio.Scanner
	var cmds []*exec.Cmd
	for seed := range n {
		cmd, out := saver(t, path, seed, each)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	said := map[string]bool{}
	for i, out := range outs {
		for out.Scan() {
			said[out.Text()] = true
		}
		if err := cmds[i].Wait(); err != nil {
			t.Error(err)
		}
	}
	if len(said) != n*each {
		t.Errorf("%d runs were saved, want %d", len(said), n*each)
	}
	whole(t, path, said, "")
}
