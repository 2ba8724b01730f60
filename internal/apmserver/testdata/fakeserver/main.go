// Command fakeserver is an apm-server to the tests: it takes the same settings, answers
// on apm-server.host, logs to standard error, and tells what it was started with.
package main

import (
	"fmt"
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
		fmt.Fprintf(w, `{"libbeat.pipeline.events.active":0,"libbeat.output.events.acked":%d,"memstats":{"HeapAlloc":1}}`, events.Load())
	})
	http.HandleFunc("/settings", func(w http.ResponseWriter, r *http.Request) {
		for name, value := range settings {
			fmt.Fprintf(w, "%s=%s\n", name, value)
		}
		fmt.Fprintln(w, "argv", os.Args)
	})
	http.HandleFunc("/intake/v2/events", func(w http.ResponseWriter, r *http.Request) {
		if events.Add(1) == 3 && settings["fake"] == "dies" {
			fmt.Fprintln(os.Stderr, "ERROR out of luck")
			os.Exit(4)
		}
		time.Sleep(time.Millisecond) // as if it did something
		w.WriteHeader(http.StatusAccepted)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(settings["apm-server.host"], nil))
	os.Exit(1)
}
