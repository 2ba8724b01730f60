package formats

import (
	"bufio"
	"bytes"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// k6Decoder reads what k6 run --out csv=FILE writes (grafana.com/docs/k6, CSV output): a row for each metric of each
// request. The rows of http_req_duration have the requests: the time of their end, and milliseconds.
type k6Decoder struct {
	table
	row    tableRow
	filler parse.Line
	values []jtlColumn
}

const (
	k6Metric                 = "http_req_duration"
	k6Other  parse.NoRequest = "a row of another metric than " + k6Metric
)

func k6CSV(in *bufio.Reader, f parse.Line) Decoder {
	return &k6Decoder{table: table{in: in, needs: []string{"metric_name", "timestamp", "metric_value", "url"}}, filler: f, values: []jtlColumn{
		{name: "timestamp", set: parse.End}, {name: "metric_value", set: parse.Latency(time.Millisecond)}, {name: "method", set: parse.Method},
		{name: "status", set: parse.Status}, {name: "url", set: (*parse.Line).SetURI},
	}}
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
	return fillJTL(&d.filler, d.values, func(c *jtlColumn) string { return d.cell(&d.row, c.name) })
}
