package remotewrite

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/post"
)

// protocol is a description of the messages that the test's decoder understands, as the specification
// of remote write 1.0 has them.
const protocol = `
name: "remote.proto" package: "prometheus" syntax: "proto3"
message_type { name: "WriteRequest"
  field { name: "timeseries" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.TimeSeries" } }
message_type { name: "TimeSeries"
  field { name: "labels" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.Label" }
  field { name: "samples" number: 2 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.Sample" }
  field { name: "histograms" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.Histogram" } }
message_type { name: "Label"
  field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type { name: "Sample"
  field { name: "value" number: 1 label: LABEL_OPTIONAL type: TYPE_DOUBLE }
  field { name: "timestamp" number: 2 label: LABEL_OPTIONAL type: TYPE_INT64 } }
message_type { name: "Histogram"
  oneof_decl { name: "count" } oneof_decl { name: "zero_count" }
  field { name: "count_int" number: 1 label: LABEL_OPTIONAL type: TYPE_UINT64 oneof_index: 0 }
  field { name: "count_float" number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE oneof_index: 0 }
  field { name: "sum" number: 3 label: LABEL_OPTIONAL type: TYPE_DOUBLE }
  field { name: "schema" number: 4 label: LABEL_OPTIONAL type: TYPE_SINT32 }
  field { name: "zero_threshold" number: 5 label: LABEL_OPTIONAL type: TYPE_DOUBLE }
  field { name: "zero_count_int" number: 6 label: LABEL_OPTIONAL type: TYPE_UINT64 oneof_index: 1 }
  field { name: "zero_count_float" number: 7 label: LABEL_OPTIONAL type: TYPE_DOUBLE oneof_index: 1 }
  field { name: "positive_spans" number: 11 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.BucketSpan" }
  field { name: "positive_deltas" number: 12 label: LABEL_REPEATED type: TYPE_SINT64 options { packed: true } }
  field { name: "timestamp" number: 15 label: LABEL_OPTIONAL type: TYPE_INT64 } }
message_type { name: "BucketSpan"
  field { name: "offset" number: 1 label: LABEL_OPTIONAL type: TYPE_SINT32 }
  field { name: "length" number: 2 label: LABEL_OPTIONAL type: TYPE_UINT32 } }
`

// writeRequest is the WriteRequest of the library of protocol buffers.
func writeRequest(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(protocol), &file); err != nil {
		t.Fatal(err)
	}
	d, err := protodesc.NewFile(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Messages().ByName("WriteRequest")
}

func named(name string, labels ...metrics.Label) []metrics.Label {
	return append([]metrics.Label{{Name: "__name__", Value: name}}, labels...)
}

func TestRequestIsOfTheProtocol(t *testing.T) {
	list := []series{
		{labels: named("takt_in_flight", metrics.Label{Name: "run", Value: "R"}), value: 3.5},
		{labels: named("takt_response_seconds"), histogram: &histogram{
			post.Exponential{First: -5, Counts: []uint64{2, 0, 0, 1, 0, 0, 0, 7, 7}}, 17, 0.25,
		}},
	}
	d := writeRequest(t)
	got, want := dynamicpb.NewMessage(d), dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(request(list, 1234), got); err != nil {
		t.Fatal(err)
	}
	// The row of three empty buckets is a gap between spans, and the row of two is not.
	err := prototext.Unmarshal([]byte(`
		timeseries {
			labels { name: "__name__" value: "takt_in_flight" } labels { name: "run" value: "R" }
			samples { value: 3.5 timestamp: 1234 }
		}
		timeseries {
			labels { name: "__name__" value: "takt_response_seconds" }
			histograms {
				count_int: 17 sum: 0.25 schema: 5 zero_count_int: 0 timestamp: 1234
				positive_spans { offset: -4 length: 4 } positive_spans { offset: 3 length: 2 }
				positive_deltas: [2, -2, 0, 1, 6, 0]
			}
		}`), want)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("the request is\n%v\nwant\n%v", got, want)
	}
	got.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		for i := range v.List().Len() {
			if u := v.List().Get(i).Message().GetUnknown(); len(u) > 0 {
				t.Errorf("unknown fields % x", u)
			}
		}
		return true
	})
}
