package formats

import (
	"bufio"
	"bytes"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/fill"
)

// k6Decoder reads what k6 run --out csv=FILE writes (grafana.com/docs/k6, CSV output): a row for each metric of each
// request. The rows of http_req_duration have the requests: the time of their end, and milliseconds.
type k6Decoder struct {
	table
	row    tableRow
	filler fill.Line
}

const (
	k6Metric                = "http_req_duration"
	k6Other  fill.NoRequest = "a row of another metric than " + k6Metric
)

func k6CSV(in *bufio.Reader, f fill.Line) Decoder {
	return &k6Decoder{table: table{in: in, needs: []string{"metric_name", "timestamp", "metric_value", "url"}}, filler: f}
}

func isK6(first []byte) bool {
	return bytes.HasPrefix(first, []byte("metric_name,timestamp,metric_value"))
}

// Next implements Decoder.
func (d *k6Decoder) Next(rec *trace.Record) error {
	if d.columns == nil {
		if err := d.head(); err != nil {
			return err
		}
	}
	d.read(&d.row)
	d.line = d.row.line
	if d.row.err != nil {
		return d.row.err
	}
	if d.cell(&d.row, "metric_name") != k6Metric {
		return k6Other
	}
	d.filler.Begin(rec)
	for _, c := range []struct {
		name string
		set  fill.Setter
	}{
		{"timestamp", fill.End}, {"metric_value", fill.Latency(time.Millisecond)}, {"method", fill.Method}, {"status", fill.Status}, {"url", (*fill.Line).SetURI},
	} {
		if err := c.set(&d.filler, []byte(d.cell(&d.row, c.name))); err != nil {
			return err
		}
	}
	return d.filler.Finish(true)
}
