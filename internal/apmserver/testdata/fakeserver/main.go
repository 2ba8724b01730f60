// Command fakeserver is an apm-server to the tests: it takes the same settings, answers
// on apm-server.host, logs to standard error, and tells what it was started with.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	settings := map[string]string{}
	for i, word := range os.Args[1:] {
		if word == "-E" {
			name, value, _ := strings.Cut(os.Args[i+2], "=")
			settings[name] = os.ExpandEnv(value)
		}
	}
	fmt.Fprintln(os.Stderr, "INFO started", os.Args[0])
	if settings["fake"] == "exits" {
		fmt.Fprintln(os.Stderr, "ERROR the settings are wrong")
		os.Exit(3)
	}
	go func() {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		<-asked
		fmt.Fprintln(os.Stderr, "INFO stopped")
		os.Exit(0)
	}()
	ballast := make([]byte, 32<<20)
	for i := range ballast {
		ballast[i] = 1
	}
	var events atomic.Int64
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"version":"fake-%d","publish_ready":true}`, len(ballast))
	})
	http.HandleFunc("/debug/vars", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"apm-server.server.request.count":1,"memstats":{"HeapAlloc":1}}`) // as of 6 and 7.4: nothing of the output
	})
	if settings["http.enabled"] == "true" {
		go serveStats(settings, &events)
	}
	http.HandleFunc("/settings", func(w http.ResponseWriter, r *http.Request) {
		for name, value := range settings {
			fmt.Fprintf(w, "%s=%s\n", name, value)
		}
		fmt.Fprintln(w, "argv", os.Args)
	})
	http.HandleFunc("/intake/v2/events", func(w http.ResponseWriter, r *http.Request) {
		switch n := events.Add(eventsPerRequest) / eventsPerRequest; {
		case n == 3 && settings["fake"] == "dies":
			fmt.Fprintln(os.Stderr, "ERROR out of luck")
			os.Exit(4)
		case n == 3 && settings["fake"] == "crashes":
			crash()
		case settings["fake"] == "refused":
			fmt.Fprintf(os.Stderr, "2026-11-23T23:24:03.023Z\tWARN\telasticsearch/client.go:539\tCannot index event publisher.Event{Content:%s} (status=400): {\"reason\":\"no mapping %d\"}\n", strings.Repeat("x", 10_000), n)
		}
		time.Sleep(time.Millisecond) // as if it did something
		w.WriteHeader(http.StatusAccepted)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(settings["apm-server.host"], nil))
	os.Exit(1)
}

// eventsPerRequest is what the load of the tests sends.
const eventsPerRequest = 50

// serveStats is libbeat's server of counters: all events are acknowledged, or refused.
func serveStats(settings map[string]string, events *atomic.Int64) {
	err := http.ListenAndServe(net.JoinHostPort(settings["http.host"], settings["http.port"]), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		acked, dropped := events.Load(), int64(0)
		if acked > 0 && settings["fake"] == "dies later" {
			fmt.Fprintln(os.Stderr, "ERROR out of luck")
			os.Exit(4)
		}
		if settings["fake"] == "refused" {
			acked, dropped = 0, acked
		}
		fmt.Fprintf(w, `{"libbeat":{"output":{"events":{"acked":%d,"dropped":%d,"active":0},"type":"elasticsearch"},"pipeline":{"events":{"active":0}}}}`, acked, dropped)
	}))
	fmt.Fprintln(os.Stderr, err)
}

// crash ends as a Go program with cgo does: its first line says why, hundreds more follow.
func crash() {
	fmt.Fprintln(os.Stderr, "runtime/cgo: pthread_create failed: Operation not permitted\nSIGABRT: abort\nPC=0x7fc1f6479eec m=4\n\ngoroutine 0 [idle]:")
	for i := range 1500 {
		fmt.Fprintf(os.Stderr, "r%d 0x0\n", i)
	}
	os.Exit(2)
}
