package timeline

import (
	"sync"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Histograms are those of an interval.
type Histograms struct {
	Response, Service Histogram
	Timed             map[string]Histogram // takt.Interval.Latency
}

// Lent are the histograms of an interval for several readers, in any goroutines. The first who asks decodes
// them, so nobody pays for a second that no reader looks into, and a reader on a thread of low priority
// pays there.
type Lent func() (Histograms, error)

// Lend lends the histograms of iv.
func Lend(iv *takt.Interval) Lent {
	response, service, timed := iv.HDR, iv.ServiceHDR, iv.Latency
	names := Names(iv)
	return sync.OnceValues(func() (h Histograms, err error) {
		var d hist.Decoder
		if h.Response, err = Decode(&d, response); err == nil {
			h.Service, err = Decode(&d, service)
		}
		if err == nil && len(names) > 0 {
			h.Timed = make(map[string]Histogram, len(names))
		}
		for _, name := range names {
			if err == nil {
				h.Timed[name], err = Decode(&d, timed[name].HDR)
			}
		}
		return h, err
	})
}

// Of returns the histograms of iv, for which l was lent. A nil l decodes them.
func (l Lent) Of(iv *takt.Interval) (Histograms, error) {
	if l == nil {
		l = Lend(iv)
	}
	return l()
}
