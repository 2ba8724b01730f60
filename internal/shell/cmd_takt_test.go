package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver"
)

// A protocol's row is all that the shell needs for its command.
func TestLoadCommands(t *testing.T) {
	known := []string{"http", "replay", "kafka", "apm", "jms"} // the shell has an apm of its own
	rows := append(slices.DeleteFunc(driver.Table(), func(r driver.Row) bool { return !slices.Contains(known, r.Kind) }),
		driver.Row{Use: "redis [flags] HOST", Short: "load Redis, command by command"},
		driver.Row{Group: "mqtt", GroupShort: "an MQTT broker: publish or subscribe", Use: "publish [flags]"},
		driver.Row{Group: "mqtt", Use: "subscribe [flags]"})
	want := []string{
		"http|[FLAGS] URL|load an HTTP server at a rate", "replay|[FLAGS] LOG… URL|send the requests of a log again", "kafka|produce|consume|e2e …|load Kafka",
		"jms|client|producer|consumer …|load a JMS broker by AMQP 1.0", "redis|[FLAGS] HOST|load Redis", "mqtt|publish|subscribe …|load an MQTT broker",
	}
	var got []string
	for _, c := range loadCommands(rows) {
		got = append(got, strings.Join([]string{c.name, c.args, c.short}, "|"))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
