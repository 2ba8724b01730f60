package scenariocmd

import (
	"bytes"
	"errors"

	"github.com/taktload/takt/internal/correlate"
)

// harName is the format of browsers' recordings, which have answers, so that takt finds where values are from.
const harName = "har"

// looksHAR reports whether a text is a HAR file.
func looksHAR(text []byte) bool {
	start := bytes.Join(bytes.Fields(text[:min(len(text), 200)]), nil)
	return bytes.HasPrefix(start, []byte(`{"log":{`))
}

// fromHAR makes a scenario of a HAR file.
func (m *making) fromHAR(text []byte) error {
	to, err := openOutputs(m.output, "")
	if err != nil {
		return err
	}
	defer to.discard()
	list, notes, err := correlate.FromHAR(bytes.NewReader(text))
	for _, n := range notes {
		say(m.env, "%s", n)
	}
	if err == nil && len(list) == 0 {
		err = errors.New("the HAR file has no request that was sent to a server")
	}
	if err != nil {
		return err
	}
	return write(m.env, list, m.correlate, "Recorded", to)
}
