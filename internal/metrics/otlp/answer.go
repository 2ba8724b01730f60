package otlp

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/taktload/takt/internal/permanent"
)

// rejected is the error of a good answer by which the receiver says that it dropped values: an
// ExportMetricsServiceResponse with a partial success. Everything else in an answer means nothing.
func rejected(answer []byte) error {
	partial, ok := field(answer, 1, protowire.BytesType)
	if !ok {
		return nil
	}
	n, _ := field(partial, 1, protowire.VarintType)
	count, _ := protowire.ConsumeVarint(n)
	if int64(count) <= 0 {
		return nil
	}
	why, _ := field(partial, 2, protowire.BytesType)
	return permanent.Mark(fmt.Errorf("the receiver rejected %d values: %.200q", int64(count), why))
}

// field is the first field with this number and type: of BytesType its content, of others their bytes.
func field(message []byte, number protowire.Number, kind protowire.Type) ([]byte, bool) {
	for len(message) > 0 {
		num, typ, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, false
		}
		size := protowire.ConsumeFieldValue(num, typ, message[tag:])
		if size < 0 {
			return nil, false
		}
		if value := message[tag : tag+size]; num == number && typ == kind {
			if kind == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
			return value, true
		}
		message = message[tag+size:]
	}
	return nil, false
}
