package payload

import (
	"errors"
	"io"

	"github.com/taktload/takt/internal/value"
)

// Names are the feeders that a template reads, for the flag whose text the template is: value.Naming.
func Names(text string) (names []value.Name) {
	env := Env{Open: func(path string) (io.ReadCloser, error) {
		names = append(names, value.Name{Kind: value.Reads, Text: path})
		return nil, errors.New("only its name is asked for")
	}}
	_, _ = env.Parse("", text) // its faults are those of the command
	return names
}
