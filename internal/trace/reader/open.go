package reader

import (
	"bufio"
	"bytes"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
	"github.com/taktload/takt/internal/trace/parse"
)

// autoFormat is the format that is detected by the first lines.
const autoFormat = "auto"

// Options says how to read a log.
type Options struct {
	// Format is auto (also ""), a name that Formats lists, an nginx log_format (it
	// has a $), an Apache LogFormat (it has a %), or a format of HAProxy or Envoy.
	Format string
	// Fields is the field map of the format json, such as
	// "end=ts,latency=duration:ms,uri=req.path"; see docs/traces.md. "": common names.
	Fields string
	// Zone is the zone of stamps without one; nil: local.
	Zone *time.Location
	// NoTimes says that the times of requests are not needed. A row of the load format with
	// bad times is then a record without times, instead of a bad line.
	NoTimes bool
	// Inspect says to try other formats for bad lines, see Counts.Others.
	Inspect bool

	guessed bool   // the format was detected, not given
	columns []byte // for w3c: the line #Fields before the part that is read
}

// Formats lists the names of the formats with a line about each, auto first.
func Formats() [][2]string {
	list := [][2]string{{autoFormat, "by the first lines"}}
	for _, f := range formats.Table() {
		list = append(list, [2]string{f.Name, f.About})
	}
	return list
}

// checkFormat reports what is wrong with the format and the field map of o, before
// any file is opened.
func checkFormat(o Options) error {
	if o.Format == "" || o.Format == autoFormat {
		if o.Fields == "" {
			return nil
		}
		o.Format = "json" // or another format by names: the map is the same
	}
	_, err := open(bufio.NewReader(bytes.NewReader(nil)), o, &trace.Left{})
	return err
}

// open returns the decoder of a format other than auto.
func open(in *bufio.Reader, o Options, left *trace.Left) (formats.Decoder, error) {
	f, err := formats.Find(o.Format)
	if err != nil {
		return nil, err
	}
	if o.Fields != "" && f.Name != "" && f.Name != "json" && f.Name != "ltsv" && f.Name != "logfmt" {
		return nil, fmt.Errorf("a field map is given for the format %s; only the formats json, ltsv and logfmt use one", f.Name)
	}
	if f.Stream != nil {
		return f.Stream(in, parse.NewLine(o.Zone, o.NoTimes, left)), nil
	}
	return newLineDecoder(in, f, o, left)
}
