package main

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/exampletest"
	"github.com/taktload/takt/pkg/takt"
)

// The driver passes takt's suite against the real server.
func TestRealDNS(t *testing.T) {
	exampletest.Example{
		Name: "DNS", Where: exampletest.Server(t, "TAKT_DNS"), Bytes: true, UDP: true,
		Open: func(args []string) (*takt.Driver, error) { return open(args, "takt.test", time.Second) },
	}.Test(t)
}
