package proc

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// What the kernel says of this process, which works, has files open and memory.
func TestSelf(t *testing.T) {
	before := Self()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sink := 0; time.Since(before.At) < 50*time.Millisecond; sink++ {
		_ = sink
	}
	s := Self().Since(before)
	if s.Wall < 50*time.Millisecond || s.CPU <= 0 || s.MaxRSS < 1<<20 {
		t.Errorf("%+v", s)
	}
	if limit, used := OpenFiles(); limit == 0 || used < 4 || used > limit {
		t.Errorf("%d files of %d", used, limit)
	}
	if memory := Memory(); memory < s.MaxRSS {
		t.Errorf("%d bytes resident of %d", s.MaxRSS, memory)
	}
	if c := HostClass(); c["cores"].(int) < 1 || c["os"] != "linux" {
		t.Errorf("%v", c)
	}
}

// Of this process there are two accounts: that by its number and its own.
func TestOf(t *testing.T) {
	for start := time.Now(); time.Since(start) < 30*time.Millisecond; { // above the step of the account
	}
	p, ok := Of(os.Getpid())
	self := Self()
	if !ok || p.RSS < 1<<20 || p.MaxRSS < p.RSS || p.MaxRSS > self.MaxRSS+self.MaxRSS/20 || p.CPU <= 0 || p.CPU > self.CPU+2*jiffy {
		t.Errorf("%+v, %v; of itself %+v", p, ok, self)
	}
	if p, ok := Of(1 << 30); ok {
		t.Errorf("of no process: %+v", p)
	}
}

// TCP's counters are found by their names; a file without them says nothing.
func TestResent(t *testing.T) {
	for text, want := range map[string]uint64{
		"Ip: InReceives\nIp: 9\nTcp: MaxConn InSegs RetransSegs InErrs\nTcp: -1 20 17 3\n": 17,
		"Tcp: InSegs\nTcp: 5\n":         0,
		"Tcp: RetransSegs\n":            0,
		"Tcp: InSegs RetransSegs\nTcp:": 0,
	} {
		root := tree(t, map[string]string{"proc/self/net/snmp": text})
		if got := resent(root); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := resent(t.TempDir()); got != 0 {
		t.Errorf("without the file: %d", got)
	}
}

// A thread that ended, or a counter of the kernel that stepped back, makes no span negative.
func TestSince(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	before := Usage{Steal: ms(40), Idle: ms(900), Throttled: ms(9), Waited: map[string]time.Duration{"1": ms(5), "2": ms(70), "3": ms(8)}}
	after := Usage{Steal: ms(30), Idle: ms(890), Throttled: ms(0), Waited: map[string]time.Duration{"1": ms(7), "3": ms(6), "4": ms(20)}}
	if s := after.Since(before); s.Waited != ms(22) || s.Steal != 0 || s.Idle != 0 || s.Throttled != 0 {
		t.Errorf("%+v, want only the 2 ms of thread 1 and the 20 ms of thread 4", s)
	}
}

func TestShare(t *testing.T) {
	s := Span{Wall: 2 * time.Second, Steal: time.Duration(runtime.NumCPU()) * time.Second}
	if got := s.Share(s.Steal); got != 0.5 {
		t.Errorf("a second of each core is %v of two", got)
	}
	if got := (Span{}).Share(0); got != 0 {
		t.Errorf("nothing is %v of no time", got)
	}
}

// A thread that sleeps gives its core up each time.
func TestSwitches(t *testing.T) {
	sum := func() (n uint64) {
		for _, count := range Switches(os.Getpid()) {
			n += count
		}
		return n
	}
	before := sum()
	for range 50 {
		time.Sleep(time.Millisecond)
	}
	if after := sum(); before == 0 || after < before+50 {
		t.Errorf("%d context switches, and %d after 50 sleeps", before, after)
	}
	if got := Switches(1 << 30); len(got) != 0 {
		t.Errorf("no process: %v", got)
	}
}
