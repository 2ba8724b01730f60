package produce

import (
	"fmt"

	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
)

// sizeFlag is --message-size: bytes, or a distribution of sizes.
type sizeFlag struct {
	value.Flag // of bytes
	sizes      *string
}

// Set implements pflag.Value. The distribution is read later, when the seed is known.
func (f sizeFlag) Set(text string) error {
	if payload.IsDistribution(text) {
		*f.sizes = text
		return nil
	}
	if err := f.Flag.Set(text); err != nil {
		return fmt.Errorf("%w, or a distribution such as 100..64KiB or lognormal:2KiB,20KiB", err)
	}
	*f.sizes = ""
	return nil
}

func (f sizeFlag) String() string {
	if f.sizes != nil && *f.sizes != "" {
		return *f.sizes
	}
	return f.Flag.String()
}

// Shown implements value.Shower.
func (f sizeFlag) Shown() string {
	if s, ok := f.Flag.(value.Shower); ok && *f.sizes == "" {
		return s.Shown()
	}
	return f.String()
}

// Names implements value.Flag: a sample of sizes is a file.
func (f sizeFlag) Names(text string) []value.Name {
	if path := payload.SizesFile(text); path != "" {
		return []value.Name{{Kind: value.Reads, Text: path}}
	}
	return nil
}
