package produce

import (
	"fmt"
	"strconv"

	"github.com/taktload/takt/internal/value"
)

// lingerFlag is a time with a unit. Java's linger.ms, and the flags of other programs, are
// milliseconds, and other times of takt without a unit are seconds.
type lingerFlag struct{ value.Flag }

// Set implements pflag.Value.
func (f lingerFlag) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n != 0 {
		return fmt.Errorf("a linger of %.20s has no unit; write %.20sms for milliseconds, or %.20ss for seconds", text, text, text)
	}
	return f.Flag.Set(text)
}
