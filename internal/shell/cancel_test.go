package shell_test

import (
	"regexp"
	"strings"
	"testing"
)

// A plain cancel ends no job of another session. Of a cancel that names the job both
// sides hear once: who follows the job from its log, who has left it by a line of its own.
func TestCancelOfAnother(t *testing.T) {
	tick := make(chan struct{})
	server := serve(t, t.TempDir(), held(tick))
	owner := holdJob(t, server.addr)
	if _, err := owner.conn.Write([]byte{255, 244}); err != nil { // telnet's Ctrl-C
		t.Fatal(err)
	}
	owner.until(regexp.MustCompile(`detached; .*\n>>> $`))
	follower, other := dial(t, server.addr), dial(t, server.addr)
	for _, c := range []*client{follower, other} {
		c.until(prompted)
	}
	follower.send("attach 1; status")
	follower.until(regexp.MustCompile(`running  job 1 of local.*\n$`))
	other.send("cancel")
	if text := other.until(prompted); text != "error: no job of this session is running; job 1 belongs to another session, of local: cancel 1 stops it and tells that session\n" {
		t.Errorf("%q", text)
	}
	tick <- struct{}{} // it goes on
	other.send("cancel 1")
	if text := other.until(prompted); text != "job 1 of local is told to stop, and that session is told who did it; cancel 1 again to end it at once\n" {
		t.Errorf("%q", text)
	}
	by := regexp.MustCompile(`job 1 is told to stop by local, in session \d+ from 127\.0\.0\.1:\d+\n`)
	if text := owner.until(prompted); !by.MatchString(text) {
		t.Errorf("the owner sees %q", text)
	}
	text := follower.until(jobDone)
	follower.send("quit")
	if text += follower.until(closed); len(by.FindAllString(text, -1)) != 1 || !strings.Contains(text, "job 1 was cancelled") {
		t.Errorf("who follows sees %q", text)
	}
}

// What is removed is told, too, and queue clear leaves what others have given.
func TestRemovalOfAnother(t *testing.T) {
	server := serve(t, t.TempDir(), held(nil))
	owner := holdJob(t, server.addr)
	waiting, other := dial(t, server.addr), dial(t, server.addr)
	for _, c := range []*client{waiting, other} {
		c.until(prompted)
		c.send("http -n 7 http://127.0.0.1:1/ ; http -n 8 http://127.0.0.1:1/")
		c.until(prompted)
	}
	for _, step := range [][2]string{
		{"cancel", "error: no job of this session is running; its job 4 waits: cancel 4 removes it\n"},
		{"queue clear", "2 jobs removed\n2 jobs of other sessions left; queue clear all removes them too\n"},
		{"cancel 2", "job 2 of local is removed, and that session is told who did it\n"},
		{"queue clear all", "1 job removed\n"},
		{"cancel 3", "error: no job 3 waits or runs; queue lists those that do\n"},
	} {
		other.send(step[0])
		if text := other.until(regexp.MustCompile("(?s)" + regexp.QuoteMeta(step[1]) + ".*>>> $")); !strings.Contains(text, step[1]) {
			t.Errorf("%s: %q", step[0], text)
		}
	}
	text := waiting.until(regexp.MustCompile(`job 3 was removed before its turn\n>>> $`))
	for _, id := range []string{"2", "3"} {
		if strings.Count(text, "job "+id+" is removed by local, in session ") != 1 {
			t.Errorf("job %s: %q", id, text)
		}
	}
	owner.send("cancel")
	if text := owner.until(jobDone); strings.Contains(text, "by local") {
		t.Errorf("the owner's own cancel: %q", text)
	}
}
