package shell_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
)

// status -w shows the job of another session until Enter, Ctrl-C or the job's end, and the job
// goes on.
func TestWatch(t *testing.T) {
	home := t.TempDir()
	server := serve(t, home, inProcess)
	url := targettest.Serve(t, target.Options{}).URL()
	a, b := dial(t, server.addr), dial(t, server.addr)
	a.until(prompted)
	b.until(prompted)
	b.send("status -w")
	if text := b.until(prompted); text != "error: no job is running; queue lists those that wait\n" {
		t.Errorf("without a job: %q", text)
	}
	a.send("http --rate 50/s -z 1h --progress none --assert p99<1h " + url)
	a.until(aLine)

	rates := regexp.MustCompile(`(?s)due +50/s.*p99<1h  p99 is.*\nEnter ends this view\n`)
	for name, end := range map[string]string{"Enter": "\r\n", "Ctrl-C": "\x03"} {
		b.send("status -w")
		text := b.until(rates)
		if strings.Contains(text, "\x1b") {
			t.Errorf("a client that did not say it is a terminal gets %q", text)
		}
		if _, err := b.conn.Write([]byte(end)); err != nil {
			t.Fatal(err)
		}
		b.until(prompted)
		b.send("queue")
		if text := b.until(prompted); !strings.HasPrefix(text, "running  job 1") {
			t.Errorf("after %s: %q", name, text)
		}
	}
	b.send("status -w")
	b.until(rates)
	b.send("cancel 1") // a command ends the view, too
	b.until(prompted)
	b.send("status -w")
	if text := b.until(prompted); !strings.HasPrefix(text, "error: no job is running") && !strings.Contains(text, "job 1 has ended") {
		t.Errorf("after the job: %q", text)
	}
	server.stop()
}

// With an editor the picture has colours and replaces the one before, in the size of the client.
func TestWatchOnATerminal(t *testing.T) {
	home := t.TempDir()
	server := serve(t, home, inProcess)
	url := targettest.Serve(t, target.Options{ErrorRate: 1}).URL()
	c := dial(t, server.addr)
	c.until(prompted)
	c.send("http --rate 50/s -z 1h --progress none " + url)
	c.until(aLine)
	c.send("edit on")
	_, _ = c.conn.Write([]byte{255, 250, 31, 0, 100, 0, 30, 255, 240}) // 100 columns, 30 lines
	c.send("status -w")
	text := c.until(regexp.MustCompile(`(?s)\x1b\[H\x1b\[J.*5xx.*\x1b\[H\x1b\[J`))
	_, text, _ = strings.Cut(text, "\x1b[H\x1b[J")
	picture, _, _ := strings.Cut(text, "\x1b[H\x1b[J")
	if n := strings.Count(picture, "\n"); n != 29 || !strings.Contains(text, "31m") { // red
		t.Errorf("%d lines: %q", n, text)
	}
	_, _ = c.conn.Write([]byte{3})
	c.send("cancel 1")
	c.until(regexp.MustCompile("is told to stop"))
	server.stop()
}

// A client that watches and does not read delays neither its job nor the server.
func TestWatchWithoutReading(t *testing.T) {
	home := t.TempDir()
	server := serve(t, home, inProcess)
	url := targettest.Serve(t, target.Options{}).URL()
	a, b := dial(t, server.addr), dial(t, server.addr)
	a.until(prompted)
	b.until(prompted)
	a.send("http --rate 50/s -z 1500ms --progress none " + url)
	a.until(aLine)
	b.send("status -w") // and reads nothing
	if text := a.until(prompted); !strings.Contains(text, "job 1 done") {
		t.Errorf("the job: %q", text)
	}
	server.stop()
}
