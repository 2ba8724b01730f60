package consume

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/driver/kafka/capture"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// leastCapture is the smallest --capture-size.
const leastCapture = 1 << 20

func (o *Options) checkCapture(faults *value.Faults) {
	if o.Capture == "" {
		return
	}
	faults.If(o.Client != cluster.ClientFranz, "--capture needs --client franz; leave out --client")
	faults.If(o.Group != "", "--capture reads partitions without a group; leave out --group")
	faults.If(len(o.Topics) > 1, "--capture writes the records of one topic; name one with --topic")
	faults.If(o.CaptureSize < leastCapture, "--capture-size is %d bytes; give at least %d", o.CaptureSize, leastCapture)
}

// beginCapture creates the file, before the first record.
func (o *Options) beginCapture() (err error) {
	o.into, err = capture.Create(o.Capture, o.Topic, o.known[o.Topic], o.CaptureSize, cluster.StampHeader)
	if err != nil {
		return err
	}
	for at, offset := range o.offsets {
		o.into.Expect(at.partition, offset >= o.ends[at])
	}
	return nil
}

// keep writes records of one partition, which was read up to the offset next of end, to the file. Partitions that are far ahead of others wait.
func (f *franzConsumer) keep(partition int32, records []*kgo.Record, next, end int64) error {
	pause, resume, err := f.into.Add(partition, records, next, end)
	if len(pause) > 0 {
		f.client.PauseFetchPartitions(map[string][]int32{f.Topic: pause})
	}
	if len(resume) > 0 {
		f.client.ResumeFetchPartitions(map[string][]int32{f.Topic: resume})
	}
	if errors.Is(err, capture.ErrFull) {
		return err
	}
	if err != nil {
		return fmt.Errorf("the records cannot be written to %s: %w; make room, or name another file with --capture", f.Capture, err)
	}
	return nil
}

// describeCapture ends the file, and says what is in it.
func (o *Options) describeCapture(rep *takt.Report) {
	if o.into == nil {
		return
	}
	records, early, err := o.into.Close()
	rep.Extra["captured"] = records
	switch {
	case errors.Is(err, capture.ErrFull):
		rep.Warn(warn.Capture, "%s has %d records, and no room for more: the run ended before its time; %s", o.Capture, takt.Number("records", records), takt.Advice(fmt.Sprintf("raise --capture-size %d", o.CaptureSize)))
	case err != nil:
		rep.Warn(warn.Capture, "the file of --capture is not complete: %v", err)
	}
	if early > 0 {
		rep.Warn(warn.Capture, "%d records are in %s before older ones of other partitions, perhaps, because one partition was not read for long", takt.Number("early", early), o.Capture)
	}
}
