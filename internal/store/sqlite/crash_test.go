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
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/test/storetest"
)

// savesInto makes of this test's binary a process that saves savesCount reports into
// that file, of ids that begin so. It says that it begins, and each id once it is saved.
const (
	savesInto  = "TAKT_TEST_SAVES_INTO"
	savesIDs   = "TAKT_TEST_SAVES_IDS"
	savesSeed  = "TAKT_TEST_SAVES_SEED"
	savesCount = "TAKT_TEST_SAVES_COUNT"
	savesLimit = "TAKT_TEST_SAVES_LIMIT" // limit of the store; not set: none
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
	fmt.Println("begins")
	s, err := Open(context.Background(), path)
	if err != nil {
		return err
	}
	for i := range count {
		r := storetest.Reports(seed<<32+uint64(i), 1)[0]
		r.ID = os.Getenv(savesIDs) + strconv.Itoa(i)
		if err := s.Save(context.Background(), r); err != nil {
			return err
		}
		if limit, err := strconv.Atoi(os.Getenv(savesLimit)); err == nil {
			if _, err := s.Trim(context.Background(), limit, 100, r.ID); err != nil {
				return err
			}
		}
		fmt.Println(r.ID)
	}
	return s.Close()
}

// saver starts such a process, and waits until it begins.
func saver(t *testing.T, path, ids string, seed, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), savesInto+"="+path, savesIDs+"="+ids, fmt.Sprint(savesSeed, "=", seed), fmt.Sprint(savesCount, "=", count))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(pipe)
	if !out.Scan() {
		t.Fatal("the process that saves does not begin")
	}
	return cmd, out
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
	said, saves := map[string]bool{}, 0
	for kill := range kills {
		cmd, out := saver(t, path, "run ", kill, 10_000) // in the place of the runs of those before
		// The first is killed while it makes the tables.
		for range random.IntN(30) * min(kill, 1) {
			if !out.Scan() {
				t.Fatalf("process %d ended by itself", kill)
			}
			said[out.Text()] = true
			saves++
		}
		time.AfterFunc(time.Duration(random.Int64N(int64(20*time.Millisecond))), func() { cmd.Process.Kill() })
		for out.Scan() {
			said[out.Text()] = true
			saves++
		}
		cmd.Wait() // the error is that it was killed
		if whole(t, path, said); t.Failed() {
			t.Fatalf("after kill %d", kill)
		}
	}
	t.Logf("%d kills, %d saves, %d runs", kills, saves, len(said))
}

// whole says whether the store is sound and has the runs, and of each the report.
func whole(t *testing.T, path string, said map[string]bool) {
	t.Helper()
	s := at(t, path, pragmas...)
	defer s.Close()
	var ok string
	if err := s.db.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity_check: %s, %v", ok, err)
	}
	listed := map[string]bool{}
	var ids []string
	for r, err := range s.Runs(t.Context(), stored.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed[r.ID] = true
		ids = append(ids, r.ID)
	}
	for id := range said {
		if !listed[id] {
			t.Errorf("run %s was saved and is lost", id)
		}
	}
	if _, err := s.Load(t.Context(), ids...); err != nil {
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
		cmd, out := saver(t, path, fmt.Sprint("of ", seed, " "), seed, each)
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
	whole(t, path, said)
}
