package sock

import (
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair is a connection whose one end is made here and the other by package net.
func pair(t *testing.T, p *Poller) (fd int, other net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err = Connect(l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(fd) })
	if other, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if err := p.Add(fd, 7, true); err != nil {
		t.Fatal(err)
	}
	if ev := wait(t, p); !ev.Write || ev.Token != 7 || Failure(fd) != nil {
		t.Fatalf("%+v, %v", ev, Failure(fd))
	}
	if err := p.Watch(fd, 7, false); err != nil {
		t.Fatal(err)
	}
	return fd, other
}

// wait is the next event.
func wait(t *testing.T, p *Poller) Event {
	t.Helper()
	var events [4]Event
	for began := time.Now(); time.Since(began) < time.Minute; {
		if n := p.Wait(time.Second, events[:]); n > 0 {
			return events[0]
		}
	}
	t.Fatal("nothing happened")
	return Event{}
}

// Both ways of waiting: by the kernel's own nanoseconds, and by a timer for kernels
// before 5.11.
func pollers(t *testing.T, test func(t *testing.T, p *Poller)) {
	for name, nanoseconds := range map[string]bool{"epoll_pwait2": true, "timerfd": false} {
		t.Run(name, func(t *testing.T) {
			if nanoseconds && !hasPwait2() {
				t.Skip("this kernel has no epoll_pwait2")
			}
			p, err := newPoller(nanoseconds)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			test(t, p)
		})
	}
}

func TestExchange(t *testing.T) {
	pollers(t, func(t *testing.T, p *Poller) {
		fd, other := pair(t, p)
		b := make([]byte, 16)
		if _, errno := Receive(fd, b); errno != Again {
			t.Errorf("nothing was there: %v", errno)
		}
		if n, errno := Send(fd, []byte("ping")); n != 4 || errno != 0 {
			t.Error(n, errno)
		}
		if n, err := other.Read(b); string(b[:n]) != "ping" || err != nil {
			t.Error(string(b[:n]), err)
		}
		if n, errno := Peek(fd, b); errno != Again {
			t.Error("an idle connection has something:", n, errno)
		}
		if _, err := other.Write([]byte("pong")); err != nil {
			t.Fatal(err)
		}
		if ev := wait(t, p); !ev.Read || ev.Write {
			t.Errorf("%+v", ev)
		}
		if n, errno := Peek(fd, b); string(b[:n]) != "pong" || errno != 0 {
			t.Error("a look at the bytes:", n, errno)
		}
		if n, errno := Receive(fd, b); string(b[:n]) != "pong" || errno != 0 {
			t.Error(string(b[:n]), errno)
		}
		_ = other.Close()
		if ev := wait(t, p); !ev.Read {
			t.Errorf("%+v", ev)
		}
		for name, call := range map[string]func(int, []byte) (int, syscall.Errno){"look": Peek, "read": Receive} {
			if n, errno := call(fd, b); n != 0 || errno != 0 {
				t.Errorf("the end was not seen by a %s: %d, %v", name, n, errno)
			}
		}
	})
}

// The kernel's stamp lies between the writing and the reading, however late that is.
// It begins to stamp some time after it was asked to.
func TestStamps(t *testing.T) {
	pollers(t, func(t *testing.T, p *Poller) {
		fd, other := pair(t, p)
		if err := Stamp(fd); err != nil {
			t.Skip("no stamps here:", err)
		}
		var r Receiver
		start := time.Now()
		for time.Since(start) < time.Minute {
			before := time.Since(start)
			if _, err := other.Write([]byte("pong")); err != nil {
				t.Fatal(err)
			}
			wait(t, p)
			after := time.Since(start)
			time.Sleep(20 * time.Millisecond)
			n, stamp, errno := r.Receive(fd, make([]byte, 16))
			if n != 4 || errno != 0 {
				t.Fatal(n, errno)
			}
			if stamp == 0 {
				continue
			}
			// The clocks are compared to within a few µs; a millisecond is far from 20.
			w := NewWall(HostClock{}, start)
			if at := w.At(stamp, time.Since(start)); at < before-time.Millisecond || at > after+time.Millisecond {
				t.Errorf("stamped at %v, sent from %v to %v", at, before, after)
			}
			return
		}
		t.Error("the kernel never stamped")
	})
}

// A wait ends at its time, or when somebody wakes it: one of ten on the busiest machine, and none if it
// lasts for as long as a wait can.
func TestWait(t *testing.T) {
	once := func(wait func()) bool {
		for range 10 {
			began := time.Now()
			for time.Since(began) < 5*time.Millisecond { // a signal may interrupt it
				wait()
			}
			if time.Since(began) < MaxWait {
				return true
			}
		}
		return false
	}
	pollers(t, func(t *testing.T, p *Poller) {
		var events [1]Event
		if !once(func() { p.Wait(5*time.Millisecond, events[:]) }) {
			t.Error("no wait of 5 ms ended")
		}
		if !once(func() { time.AfterFunc(5*time.Millisecond, p.Wake); p.Wait(MaxWait, events[:]) }) {
			t.Error("no wait was woken")
		}
	})
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr).AddrPort()
	_ = l.Close()
	pollers(t, func(t *testing.T, p *Poller) {
		fd, err := Connect(netip.AddrPortFrom(addr.Addr(), addr.Port()))
		if err != nil {
			return // refused at once
		}
		defer Close(fd)
		if err := p.Add(fd, 1, true); err != nil {
			t.Fatal(err)
		}
		if wait(t, p); Failure(fd) == nil {
			t.Error("a connection to nobody stands")
		}
	})
}

// A wait must keep its P. When one begins with syscall.Syscall the runtime's monitor
// takes the P away and then looks every 20 µs whether it can do so again: that was
// half of the CPU of a run at 1k/s. Each look is a sleep, and the kernel counts those.
func TestWaitingLeavesTheMonitorAlone(t *testing.T) {
	p, err := newPoller(true)
	if err != nil {
		t.Skip(err)
	}
	defer p.Close()
	var events [1]Event
	var raw [1]unix.EpollEvent
	const waits, length = 300, time.Millisecond
	keeps := sleeps(t, waits, func() { p.Wait(length, events[:]) })
	gives := sleeps(t, waits, func() { _, _ = unix.EpollWait(p.epoll, raw[:], int(length.Milliseconds())) })
	t.Logf("sleeps of the process a wait: %.1f, and %.1f with syscall.Syscall", keeps, gives)
	if keeps > 2 || gives < 1.5*keeps {
		t.Errorf("the process slept %.1f times a wait, and %.1f times with syscall.Syscall", keeps, gives)
	}
}

// sleeps is how often threads of this process went to sleep for each call of wait.
func sleeps(t *testing.T, n int, wait func()) float64 {
	count := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Nvcsw
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := count()
	for range n {
		wait()
	}
	return float64(count()-before) / float64(n)
}
