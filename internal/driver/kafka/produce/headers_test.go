package produce

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Rendering a batch does not allocate, whether all records have the same headers or not.
func TestHeadersDoNotAllocate(t *testing.T) {
	for name, list := range map[string]Headers{
		"none":  nil,
		"fixed": {{Key: "a", Value: []byte("b")}},
		"own":   {{Key: "a", Value: []byte("b")}, {Key: "id", Value: []byte("{{uuid}}-{{.Seq}}")}},
	} {
		for _, messages := range [][]string{nil, {"the stamp is in the header"}} {
			o := New()
			o.Noop, o.Headers, o.Messages = true, list, messages
			if faults := o.Validate(nil); len(faults) > 0 {
				t.Fatal(faults)
			}
			o.Begin()
			w := newWorker(o.newRun(nil, false, nil), 0)
			b := w.idle[0]
			seq := uint64(0)
			fill := func() {
				b.ops = b.ops[:0]
				for range 100 {
					b.ops = append(b.ops, pending{seq: seq})
					seq++
				}
				b.fill()
			}
			for range 3 { // its memory grows
				fill()
			}
			if n := testing.AllocsPerRun(50, fill); n != 0 {
				t.Errorf("%s: %v allocations in a batch of 100", name, n)
			}
		}
	}
}

// A fault of a placeholder is said before the run, and names the flag.
func TestHeaderFaults(t *testing.T) {
	o := New()
	o.Headers = Headers{kgo.RecordHeader{Key: "a", Value: []byte("{{nothing}}")}}
	faults := o.Validate(nil)
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "--header") {
		t.Errorf("%v", faults)
	}
	o.Headers = Headers{kgo.RecordHeader{Key: "a", Value: []byte(`{{"{{"}}.Seq}}`)}}
	if faults := o.Validate(nil); len(faults) > 0 || string(o.text.headers.fixed[0].Value) != "{{.Seq}}" || o.text.headers.values != nil {
		t.Errorf("%v, %+v", faults, o.text)
	}
}
