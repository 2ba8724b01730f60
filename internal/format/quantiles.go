package format

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The head of wrk3's table, byte for byte, including the space at its end.
const quantilesHead = "Quantile    | Count     | Value \n" +
	"------------+-----------+-------------\n"

// writeQuantiles writes wrk3's table of the primary latency.
func writeQuantiles(w io.Writer, r *takt.Report) error {
	table, err := Quantiles(r)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, table)
	return err
}

// Quantiles is wrk3's table of r's response time, at 0, 50, 75, 87.5 … percent, each half as
// far from 100 as the one before, and at 100. A row has the value and the number of values up
// to it. Without measurements only the head is written.
func Quantiles(r *takt.Report) (string, error) {
	h, err := hist.Decode(r.Latency[report.Primary(r)].HDR)
	if err != nil || h.Count() == 0 {
		return quantilesHead, err
	}
	var b strings.Builder
	b.WriteString(quantilesHead)
	buckets, count := h.Buckets(), uint64(0)
	// The loop ends when the rest is less than one value, at the 64th row at the latest.
	for rest := 1.0; count < h.Count(); rest /= 2 {
		value := h.Quantile(1 - rest)
		for len(buckets) > 0 && buckets[0].From <= value {
			count += buckets[0].Count
			buckets = buckets[1:]
		}
		b.WriteString(quantilesRow(100*(1-rest), count, value))
	}
	b.WriteString(quantilesRow(100, count, h.Max()))
	return b.String(), nil
}

func quantilesRow(percent float64, count uint64, value time.Duration) string {
	return page.Left(nearly(percent), 12) + page.Left("| "+strconv.FormatUint(count, 10), 12) + "| " + value.String() + "\n"
}

// nearly writes a percentage with wrk3's three decimals, or with more if three would round it
// to 100.
func nearly(percent float64) string {
	decimals := 3
	for percent < 100 && percent >= 100-0.5*math.Pow10(-decimals) {
		decimals++
	}
	return strconv.FormatFloat(percent, 'f', decimals, 64)
}
