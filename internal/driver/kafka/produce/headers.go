package produce

import (
	"errors"
	"strings"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Headers is a repeatable flag of headers for every record.
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

func (h Headers) franz() []kgo.RecordHeader { return h }

func (h Headers) sarama() (list []sarama.RecordHeader) {
	for _, header := range h {
		list = append(list, sarama.RecordHeader{Key: []byte(header.Key), Value: header.Value})
	}
	return list
}
