// Command server is a server to try takt verify in CI with: it pauses for 2 ms, then answers.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"
)

const pause = 2 * time.Millisecond

func main() {
	port := flag.Int("port", 8080, "port to listen on")
	flag.Parse()
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(pause)
		fmt.Fprintln(w, "ok")
	})
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), nil))
}
