package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A command learns which process the server is, also behind a shell, and what it writes comes back.
func TestProfileBy(t *testing.T) {
	s, err := Start(context.Background(), options(t, `"$SERVER" & sleep 1000 & wait`, "tcp", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	text, err := s.ProfileBy(context.Background(), `echo {{.Pid}} {{.Seconds}} {{.Port}} $PORT >{{.File}}; cat /proc/{{.Pid}}/cmdline >>{{.File}}`, 7)
	if err != nil {
		t.Fatal(err)
	}
	line, cmdline, _ := strings.Cut(string(text), "\n")
	if want := fmt.Sprintf("%d 7 %d %d", s.pid(), s.Port, s.Port); line != want || !strings.HasPrefix(cmdline, os.Args[0]+"\x00") || s.pid() == s.child.Pid() {
		t.Errorf("%q, want %q and the process of the server: %q", line, want, cmdline)
	}
}

// What a command does instead of writing a profile is said, and nothing of it lives on.
func TestProfileByFails(t *testing.T) {
	s, err := Start(context.Background(), options(t, `exec "$SERVER"`, "tcp", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	left := filepath.Join(t.TempDir(), "left")
	t.Setenv("TMPDIR", t.TempDir())
	for command, want := range map[string]string{
		`echo no ptrace >&2; exit 3`:                "ended with exit status 3; its last line: no ptrace",
		`no-such-profiler -p {{.Pid}} -o {{.File}}`: "ended with exit status 127; its last line: sh: 1: no-such-profiler: not found",
		`true`:                      "wrote nothing to {{.File}}",
		`: >{{.File}}; echo done`:   "wrote nothing to {{.File}}; its last line: done",
		`mkfifo {{.File}}`:          "made no file of {{.File}}",
		`ln -s /dev/zero {{.File}}`: "made no file of {{.File}}",
		`truncate -s 65M {{.File}}`: "wrote 65 MiB to {{.File}}, and takt reads 64 MiB; take a shorter profile",
		`kill -9 $$`:                "ended with signal: killed",
		`sleep 1000 & echo $! >` + left + `; setsid sleep 1000 & echo $! >>` + left: "wrote nothing",
	} {
		if _, err := s.ProfileBy(context.Background(), command, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
	profileTime = 0
	defer func() { profileTime = 30 * time.Second }()
	_, err = s.ProfileBy(context.Background(), `trap "" TERM INT; sleep 1000 & echo $! >>`+left+`; echo waiting; wait`, 1)
	if err == nil || !strings.Contains(err.Error(), "so takt killed it; its last line: waiting") {
		t.Error("a command that hangs: ", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	over := fmt.Errorf("the server ended")
	time.AfterFunc(10*time.Millisecond, func() { cancel(over) })
	if _, err := s.ProfileBy(ctx, `sleep 1000`, 600); err != over {
		t.Error("the end of the server: ", err)
	}
	pids, err := os.ReadFile(left)
	if err != nil || len(strings.Fields(string(pids))) != 3 {
		t.Fatalf("%q, %v", pids, err)
	}
	for _, pid := range strings.Fields(string(pids)) {
		if cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline"); strings.HasPrefix(string(cmdline), "sleep") {
			t.Errorf("%s lives: %q", pid, cmdline)
		}
	}
	if files, _ := os.ReadDir(os.TempDir()); len(files) > 0 {
		t.Error("files are left: ", files)
	}
}
