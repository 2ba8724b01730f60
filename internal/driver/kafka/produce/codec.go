package produce

import (
	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// codec is a compression for both client libraries.
type codec struct {
	franz  func() kgo.CompressionCodec
	sarama sarama.CompressionCodec
}

// compressions are the words of --compression.
var compressions = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// codecOf is the codec of one of compressions.
func codecOf(name string) codec {
	switch name {
	case "gzip":
		return codec{kgo.GzipCompression, sarama.CompressionGZIP}
	case "snappy":
		return codec{kgo.SnappyCompression, sarama.CompressionSnappy}
	case "lz4":
		return codec{kgo.Lz4Compression, sarama.CompressionLZ4}
	case "zstd":
		return codec{kgo.ZstdCompression, sarama.CompressionZSTD}
	}
	return codec{kgo.NoCompression, sarama.CompressionNone}
}

// compressor compresses takt's own batches; nil: no compression.
func (o *Options) compressor() (kgo.Compressor, error) {
	if o.Compression == "none" {
		return nil, nil
	}
	return kgo.DefaultCompressor(codecOf(o.Compression).franz())
}

// acksOf is the required number of replicas, for both client libraries.
func acksOf(name string) (kgo.Acks, sarama.RequiredAcks) {
	switch name {
	case AcksNone:
		return kgo.NoAck(), sarama.NoResponse
	case AcksLocal:
		return kgo.LeaderAck(), sarama.WaitForLocal
	}
	return kgo.AllISRAcks(), sarama.WaitForAll
}
