package kafka

import (
	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// codec is a compression for both client libraries.
type codec struct {
	franz  func() kgo.CompressionCodec
	sarama sarama.CompressionCodec
}

// codecOf returns the compression with this name.
func codecOf(name string) (codec, bool) {
	switch name {
	case "none":
		return codec{kgo.NoCompression, sarama.CompressionNone}, true
	case "gzip":
		return codec{kgo.GzipCompression, sarama.CompressionGZIP}, true
	case "snappy":
		return codec{kgo.SnappyCompression, sarama.CompressionSnappy}, true
	case "lz4":
		return codec{kgo.Lz4Compression, sarama.CompressionLZ4}, true
	case "zstd":
		return codec{kgo.ZstdCompression, sarama.CompressionZSTD}, true
	}
	return codec{}, false
}

// compressor compresses takt's own batches; nil: no compression.
func (o *Produce) compressor() (kgo.Compressor, error) {
	if o.Compression == "none" {
		return nil, nil
	}
	c, _ := codecOf(o.Compression)
	return kgo.DefaultCompressor(c.franz())
}

// acksOf is the required number of replicas, for both client libraries.
func acksOf(name string) (kgo.Acks, sarama.RequiredAcks, bool) {
	switch name {
	case acksNone:
		return kgo.NoAck(), sarama.NoResponse, true
	case acksLocal:
		return kgo.LeaderAck(), sarama.WaitForLocal, true
	case acksAll:
		return kgo.AllISRAcks(), sarama.WaitForAll, true
	}
	return kgo.Acks{}, 0, false
}
