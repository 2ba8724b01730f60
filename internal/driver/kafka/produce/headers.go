package produce

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
)

// Headers is a repeatable flag of headers for every record. A value may have placeholders.
type Headers []kgo.RecordHeader

// Set implements flag.Value.
func (h *Headers) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return errors.New("not a header; write it as 'name: value'") // the text may be a secret
	}
	*h = append(*h, kgo.RecordHeader{Key: name, Value: []byte(strings.TrimSpace(value))})
	return nil
}

// String implements flag.Value.
func (h *Headers) String() string {
	var names []string
	for _, header := range *h {
		names = append(names, header.Key)
	}
	return strings.Join(names, ", ")
}

// headers are the headers of the records.
type headers struct {
	fixed  []kgo.RecordHeader  // of every record, or with the longest values
	values []*payload.Template // values that differ from record to record; nil: none does
}

// readHeaders reads the placeholders of headers.
func readHeaders(env *payload.Env, list Headers) (h headers, err error) {
	for _, one := range list {
		t, err := env.Parse("--header", string(one.Value))
		if err != nil {
			return h, value.About(err, "header")
		}
		h.values = append(h.values, t)
		text := t.Append(nil, 0)
		h.fixed = append(h.fixed, kgo.RecordHeader{Key: one.Key, Value: append(text, make([]byte, t.MaxLen()-len(text))...)})
	}
	if !slices.ContainsFunc(h.values, func(t *payload.Template) bool { return !t.Fixed() }) {
		h.values = nil
	}
	return h, nil
}

// random reports whether the seed determines a value.
func (h *headers) random() bool {
	return slices.ContainsFunc(h.values, func(t *payload.Template) bool { return t.Random() })
}

// of are the headers of record seq, in memory of their own.
func (h *headers) of(seq uint64) []kgo.RecordHeader {
	list := slices.Clone(h.fixed)
	for i, t := range h.values {
		list[i].Value = t.Append(nil, seq)
	}
	return list
}

// tail is what follows the value of a record whose headers differ from those of others. It is used
// again and again.
type tail struct{ bytes, value []byte }

// make renders the headers of record seq after the stamp, a header as AppendHeaders makes it; nil:
// there is no stamp.
func (t *tail) make(h *headers, stamp []byte, seq uint64) []byte {
	n := len(h.fixed)
	if stamp != nil {
		n++
	}
	t.bytes = append(binary.AppendVarint(t.bytes[:0], int64(n)), stamp...)
	for i := range h.fixed {
		t.value = h.values[i].Append(t.value[:0], seq)
		t.bytes = kafka.AppendHeader(t.bytes, h.fixed[i].Key, t.value)
	}
	return t.bytes
}

func saramaHeaders(list []kgo.RecordHeader) (all []sarama.RecordHeader) {
	for _, header := range list {
		all = append(all, sarama.RecordHeader{Key: []byte(header.Key), Value: header.Value})
	}
	return all
}
