package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/internal/test/targettest"
)

// TestTranscripts holds sessions to the files of testdata/transcripts: what is typed
// behind NAME>>> in the session of that name, and what comes back up to the next prompt.
// Jobs run in this process.
//
//	NAME>>>& LINE  does not wait for the prompt, only for the next line
//	NAME>>>        waits for the prompt
//	NAME>>>. LINE  waits for the end of the session
//	NAME<<< LINES  what the server says first
//	BEGUN          waits until the server has saved the report's name of a run that has begun
//	RESTART        ends the server and starts another one
//
// … stands for any text, alone on a line for any lines. $URL is a target's, $APM
// an apm-server that is its own cluster. On a busy machine, takt calls even a good run invalid:
// $VERDICT is how a report begins, $INCONCLUSIVE: how verify says that a run of each revision proves nothing.
func TestTranscripts(t *testing.T) {
	paths, _ := filepath.Glob("testdata/transcripts/*.txt") // the pattern is well-formed
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			home := t.TempDir()
			if filepath.Base(path) == "files.txt" {
				confine(t, home)
			} else {
				t.Parallel()
			}
			if racetest.On && filepath.Base(path) == "readme.txt" {
				t.Skip("makes many bodies, which takes long with the race detector; scripts/test runs it without")
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tr := &transcript{t: t, home: home, clients: map[string]*client{}}
			tr.replace = []string{"$APM", apm(t), "$HOME", tr.home}
			tr.replace = append(tr.replace, "$URL", targettest.Serve(t, target.Options{}).URL()+"/")
			tr.play(string(text))
		})
	}
}

// transcript is one file as it is played.
type transcript struct {
	t       *testing.T
	home    string
	replace []string // what stands in the files for what
	flags   []string
	server  *running
	clients map[string]*client
}

var step = regexp.MustCompile(`(?m)^(?:(\w*)(>>>|<<<)([&.]?)(?: (.*))?|BEGUN|RESTART|FLAGS (.*))\n`)

func (tr *transcript) play(text string) {
	steps := step.FindAllStringSubmatchIndex(text, -1)
	for i, at := range steps {
		end := len(text)
		if i+1 < len(steps) {
			end = steps[i+1][0]
		}
		part := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		want := text[at[1]:end]
		switch line := strings.TrimSpace(part(0)); {
		case line == "BEGUN":
			tr.begun()
		case line == "RESTART":
			tr.stop()
		case part(5) != "":
			tr.flags = strings.Fields(strings.NewReplacer(tr.replace...).Replace(part(5)))
		default:
			tr.step(line, part(1), part(2), part(3), part(4), want)
		}
	}
	tr.stop()
}

func (tr *transcript) begun() {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(tr.home, "state", "*")) // the pattern is well-formed
		for _, f := range files {
			if text, _ := os.ReadFile(f); bytes.Contains(text, []byte(`"reports"`)) { // else it is not complete yet
				return
			}
		}
	}
	tr.t.Fatal("no run has begun")
}

func (tr *transcript) stop() {
	if tr.server != nil {
		tr.server.stop()
	}
	for _, c := range tr.clients {
		_ = c.conn.Close()
	}
	tr.server, tr.clients = nil, map[string]*client{}
}

func (tr *transcript) step(where, name, kind, mode, line, want string) {
	if tr.server == nil {
		tr.server = serve(tr.t, tr.home, inProcess, tr.flags...)
	}
	c := tr.clients[name]
	if c == nil {
		c = dial(tr.t, tr.server.addr)
		tr.clients[name] = c
		if kind != "<<<" {
			c.until(prompted)
		}
	}
	if line != "" {
		c.send(strings.NewReplacer(tr.replace...).Replace(line))
	}
	ends := prompted
	switch {
	case mode == "&":
		ends = aLine
	case mode == "." || kind == "<<<" && !strings.Contains(want, "help"):
		ends = closed
		if kind == "<<<" {
			ends = aLine
		}
	}
	back := slices.Clone(tr.replace)
	slices.Reverse(back)
	got := strings.NewReplacer(back...).Replace(c.until(ends))
	if !pattern(want).MatchString(got) {
		tr.t.Fatalf("%s\n%s\nwant\n%s", where, got, want)
	}
}

// pattern is what … makes of a text.
func pattern(text string) *regexp.Regexp {
	p := regexp.QuoteMeta(strings.TrimRight(text, "\n"))
	p = regexp.MustCompile(`(?m)^…(\n|$)`).ReplaceAllString(p, `(?:.*\n)*`)
	p = strings.ReplaceAll(p, "…", ".*")
	p = strings.ReplaceAll(p, `\$VERDICT`, `(?:valid run|INVALID RUN: )`)
	p = strings.ReplaceAll(p, `\$INCONCLUSIVE:`, `(?:INCONCLUSIVE:|takt: nothing can be concluded )`)
	return regexp.MustCompile(`^` + p + `\n*$`)
}

// client is a session's other end.
type client struct {
	conn  net.Conn
	fatal func(...any)
	read  string
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn: conn, fatal: t.Fatal}
}

func (c *client) send(line string) {
	if _, err := fmt.Fprintf(c.conn, "%s\r\n", line); err != nil {
		c.fatal(err)
	}
}

// What until waits for.
var (
	prompted = regexp.MustCompile(`(?:^|\n)>>> $`)
	aLine    = regexp.MustCompile(`\n$`)
	closed   = regexp.MustCompile(`$^`) // nothing
)

// until reads until all that was read since the last call ends so, or the session does,
// and returns it without the prompt.
func (c *client) until(end *regexp.Regexp) string {
	b := make([]byte, 1<<16)
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Minute))
	for c.read == "" || !end.MatchString(c.read) {
		n, err := c.conn.Read(b)
		c.read += strings.ReplaceAll(string(b[:n]), "\r", "")
		if err == nil {
			continue
		}
		if end != closed {
			c.fatal(fmt.Sprintf("%v after %q", err, c.read))
		}
		break
	}
	text := strings.TrimSuffix(strings.TrimPrefix(c.read, "\n"), ">>> ")
	c.read = ""
	return text
}

// running is a shell that serves.
type running struct {
	addr string
	http string // URL of the API; "": none
	stop func()
}

// serve runs a shell until stop, or the end of the test.
func serve(t testing.TB, home string, run shell.Run, flags ...string) *running {
	t.Helper()
	o := shell.Options{Addr: "127.0.0.1:0", DumpDir: filepath.Join(home, "dumps"), StateDir: filepath.Join(home, "state"), Least: 100 * time.Millisecond}
	fs := newFlags(&o)
	if err := fs.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return serveWith(t, o, home, run)
}

// serveWith runs a shell with these options.
func serveWith(t testing.TB, o shell.Options, home string, run shell.Run) *running {
	t.Helper()
	host := cli.ShellHost(environment(t.Context(), home))
	host.Version = "test"
	host.Program, _ = os.Executable() // "": no sandbox
	if run != nil {
		host.Run = run
	}
	host.Run = withHome(host.Run, home)
	s, err := shell.Listen(o, host)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(ctx, nil) // "context canceled"
	}()
	addrs := s.Addrs()
	r := &running{addr: addrs[0], http: addrs[len(addrs)-1], stop: func() {
		cancel()
		<-ended
	}}
	t.Cleanup(r.stop)
	return r
}
