package main

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/exampletest"
	"github.com/taktload/takt/pkg/takt"
)

// The driver passes takt's suite against the real server.
func TestRealNATS(t *testing.T) {
	exampletest.Example{
		Name: "NATS, request and answer", Where: exampletest.Server(t, "TAKT_NATS"), Bytes: true, Timeout: time.Second / 2,
		Open: func(args []string) (*takt.Driver, error) { return open(args, "", 100, time.Second/2) },
	}.Test(t)
}
