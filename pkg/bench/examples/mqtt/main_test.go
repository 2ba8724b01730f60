package main

import (
	"testing"

	"github.com/taktload/takt/internal/test/exampletest"
	"github.com/taktload/takt/pkg/takt"
)

// The driver passes takt's suite against the real server.
func TestRealMQTT(t *testing.T) {
	exampletest.Example{
		Name: "MQTT, QoS 1", Where: exampletest.Server(t, "TAKT_MQTT"),
		Open: func(args []string) (*takt.Driver, error) { return open(args, 100, 1) },
	}.Test(t)
}
