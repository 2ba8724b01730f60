package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clitest"
)

// at runs takt in this process, for a user with that home.
func at(ctx context.Context, home string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Interrupt: ctx,
		Getenv: func(name string) string {
			if name == "HOME" {
				return home
			}
			return ""
		},
	}, args)
	return code, out.String(), errs.String()
}

func spoolAt(home string) string { return filepath.Join(home, ".local", "state", "takt", "spool") }

func journalsAt(t *testing.T, home string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(spoolAt(home), "*.journal"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// kill makes what a run leaves that is killed in its third second: the journal of one that
// goes on, copied into a home of its own. It tells the id.
func kill(t *testing.T) (home, id string) {
	t.Helper()
	live, home := t.TempDir(), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	url, ended := serve(t, target.Options{}), make(chan struct{})
	go func() {
		defer close(ended)
		at(ctx, live, "http", "--rate", "200/s", "-z", "1m", "--label", "branch=main", url)
	}()
	var text []byte
	for seconds := 0; seconds < 2; {
		select {
		case <-ended:
			t.Fatal("the run ended before its second second")
		case <-time.After(20 * time.Millisecond):
		}
		list := journalsAt(t, live)
		if len(list) == 0 {
			continue
		}
		id = strings.TrimSuffix(filepath.Base(list[0]), ".journal")
		var err error
		if text, err = os.ReadFile(list[0]); err != nil {
			t.Fatal(err)
		}
		seconds = bytes.Count(text, []byte(`{"record":`))
	}
	if code, out, errs := at(t.Context(), live, "runs"); code != core.ExitOK || !strings.Contains(out, "no such run") || errs != "" || len(journalsAt(t, live)) != 1 {
		t.Errorf("while the run goes: exit code %d, %s%s", code, out, errs)
	}
	cancel()
	<-ended
	if list := journalsAt(t, live); len(list) > 0 {
		t.Errorf("behind the run: %v", list)
	}
	if err := os.MkdirAll(spoolAt(home), 0o700); err != nil {
		t.Fatal(err)
	}
	leaveTo(t, home, id, text, live)
	return home, id
}

// leaveTo writes the journal of a user with the home live, its head and two seconds, to the
// spool of another user.
func leaveTo(t *testing.T, home, id string, text []byte, live string) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "spool")
	if err := os.MkdirAll(from, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, id+".journal"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for o, err := range spool.Open(from).Orphans() {
		if err != nil {
			t.Fatal(err)
		}
		j, err := spool.Open(spoolAt(home)).Begin(id, bytes.ReplaceAll(o.Head, []byte(live), []byte(home)))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // on a busy machine there may be more by now
			r, _ := o.Next()
			if err := j.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(j.Close(), o.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Of two who look at once one recovers the run, and both see it in the end.
func TestRecoverTwiceAtOnce(t *testing.T) {
	home, id := kill(t)
	said := make([]string, 4)
	var all sync.WaitGroup
	for i := range said {
		all.Go(func() {
			var code int
			if code, _, said[i] = at(t.Context(), home, "runs"); code != core.ExitOK {
				t.Errorf("exit code %d: %s", code, said[i])
			}
		})
	}
	all.Wait()
	if n := strings.Count(strings.Join(said, ""), "takt: the run "+id+" ended without its report; the first 2s are recovered"); n != 1 {
		t.Errorf("recovered %d times: %q", n, said)
	}
	code, out, errs := at(t.Context(), home, "show", "@-1")
	for _, want := range []string{id, "200/s intended", "[recovered]", "it is cut short after 2s"} {
		if code != core.ExitOK || errs != "" || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q: %s%s", code, want, out, errs)
		}
	}
	if code, out, _ := at(t.Context(), home, "runs", "branch=main"); code != core.ExitOK || strings.Count(out, id) != 1 || !strings.Contains(out, "incomplete") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if list := journalsAt(t, home); len(list) > 0 {
		t.Errorf("left over: %v", list)
	}
}

// A run that was stored before its process was killed stays as it is.
func TestRecoverAStoredRun(t *testing.T) {
	home, id := kill(t)
	path := filepath.Join(home, ".local", "share", "takt", "takt.db")
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole := clitest.Report(1, time.Now())
	whole.ID = id
	if err := errors.Join(st.Save(t.Context(), whole), st.Close()); err != nil {
		t.Fatal(err)
	}
	code, out, errs := at(t.Context(), home, "runs")
	if code != core.ExitOK || strings.Contains(out, "incomplete") || strings.Contains(errs, "recovered") || len(journalsAt(t, home)) > 0 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// takt store sync names the runs that wait for other stores, and --all takes them.
func TestRecoverForAnotherStore(t *testing.T) {
	home, id := kill(t)
	other := filepath.Join(t.TempDir(), "other.db")
	code, _, errs := at(t.Context(), home, "store", "sync", "--store", other)
	if want := "takt store: 1 run waits for "; code != core.ExitOK || !strings.Contains(errs, want) || len(journalsAt(t, home)) != 1 {
		t.Errorf("exit code %d, want %q: %s", code, want, errs)
	}
	if code, _, errs := at(t.Context(), home, "store", "sync", "--store", other, "--all"); code != core.ExitOK || !strings.Contains(errs, "the first 2s are recovered") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, out, _ := at(t.Context(), home, "runs", "--store", other); code != core.ExitOK || !strings.Contains(out, id) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// What is no journal that this takt can read is named, and takt runs works.
func TestRecoverRefuses(t *testing.T) {
	home := t.TempDir()
	s := spool.Open(spoolAt(home))
	heads := map[string]string{
		"json": "{", "type": `[]`, "newer": `{"journal_version":2}`, "older": `{}`, "report": `{"journal_version":1,"run":{"report":{}}}`,
	}
	says := []string{"its first record is not the head of a journal", "its first record is not the head of a journal", "it has version 2, and this takt reads version 1", "it has version 0", "it is not a report"}
	for name, head := range heads {
		j, err := s.Begin(name, []byte(head))
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := at(t.Context(), home, "runs")
	if code != core.ExitOK || !strings.Contains(out, "no such run") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for name := range heads {
		says = append(says, filepath.Join(s.Dir(), name+".journal"))
	}
	for _, want := range append(says, "remove the file if it is of no use") {
		if !strings.Contains(errs, want) {
			t.Errorf("want %q: %s", want, errs)
		}
	}
}

// A run that did not come to its first second is forgotten.
func TestRecoverNothing(t *testing.T) {
	home := t.TempDir()
	head := `{"journal_version":1,"store":"` + filepath.Join(home, ".local", "share", "takt", "takt.db") + `","run":{"report":{"schema_version":1,"id":"R1"}}}`
	j, err := spool.Open(spoolAt(home)).Begin("R1", []byte(head))
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := at(t.Context(), home, "runs")
	if code != core.ExitOK || !strings.Contains(out, "no such run") || !strings.Contains(errs, "the run R1 ended before its first second was over") || len(journalsAt(t, home)) > 0 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// Neither a run that is not kept nor one that has no home writes a journal.
func TestNoJournal(t *testing.T) {
	home, url := t.TempDir(), serve(t, target.Options{})
	if code, _, errs := at(t.Context(), home, "http", "-n", "1", "--no-store", url); code != core.ExitOK || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, err := os.Stat(spoolAt(home)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	if code, _, errs := at(t.Context(), "", "http", "-n", "1", url); code != core.ExitOK || strings.Contains(errs, "journal") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// A folder that no journal can be made in costs a run nothing but that, and is said once.
func TestJournalWithoutAPlace(t *testing.T) {
	home, url := t.TempDir(), serve(t, target.Options{})
	if err := os.MkdirAll(filepath.Dir(spoolAt(home)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spoolAt(home), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := at(t.Context(), home, "http", "--rate", "50/s", "-z", "2500ms", "--progress", "none", url)
	if code != core.ExitOK || strings.Count(errs, "takt: warning: the journal of the run cannot be written") != 1 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, out, _ := at(t.Context(), home, "runs"); code != core.ExitOK || !strings.Contains(out, "http") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
