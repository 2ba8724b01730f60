package consume

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
)

func TestConsumeFaults(t *testing.T) {
	for _, c := range []struct {
		change func(o *Options)
		want   string
	}{
		{func(o *Options) { o.From = "yesterday" }, `bad --from "yesterday"`},
		{func(o *Options) { o.Partition = "a" }, `bad --partition "a"`},
		{func(o *Options) { o.Group, o.Partition = "g", "1" }, "both --group and --partition"},
		{func(o *Options) { o.MinBytes = 0 }, "--fetch-min-bytes is 0;"},
		{func(o *Options) { o.MinBytes = math.MaxInt32 + 1 }, "--fetch-min-bytes is 2147483648;"},
		{func(o *Options) { o.MaxWait = 0 }, "--fetch-max-wait is 0s;"},
		{func(o *Options) { o.MaxWait = 25 * time.Hour }, "--fetch-max-wait is 25h0m0s;"},
		{func(o *Options) { o.Client, o.Group, o.From = cluster.ClientSarama, "g", "1700000000" }, "cannot start a group at an instant"},
		{func(o *Options) { o.Client, o.Exit = cluster.ClientSarama, true }, "use --client franz"},
	} {
		o := New()
		c.change(o)
		if faults := o.Validate(nil); len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want) {
			t.Errorf("%v, want %q", faults, c.want)
		}
	}
}
