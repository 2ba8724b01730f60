// Package from makes scenarios of what other tools have: commands, collections, plans and scripts. What it cannot take
// over it says, with its place.
package from

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/taktload/takt/internal/scene/from/jmeter"
	"github.com/taktload/takt/internal/scene/from/taken"
	"strings"
)

// Format is a row of the table of formats.
type Format struct {
	Name  string
	About string
	Looks func(text []byte) bool // reports whether a text is of this format, by its content
	Read  func(text []byte) (*taken.Taken, error)
}

// Table lists the formats. The first one that a text looks like is taken.
func Table() []Format {
	return []Format{
		{"postman", "a collection of Postman, v2.0 or v2.1", looksPostman, readPostman},
		{"jmeter", "a test plan of JMeter (.jmx)", jmeter.Looks, jmeter.Read},
		{gorName, "requests that GoReplay recorded (.gor)", looksGor, readGor},
		{"curl", "command lines of curl", looksCurl, readCurl},
		{"k6", "a script of k6, whose calls are read and not run", looksK6, readK6},
	}
}

// Names are those of the formats.
func Names() (names []string) {
	for _, f := range Table() {
		names = append(names, f.Name)
	}
	return names
}

// MaxInput is the largest input in bytes: 256 MiB. A HAR file with pictures easily has 100 MiB.
const MaxInput = 256 << 20

// Read makes a scenario of a text. name is that of a format, or "" for the one that the text looks like.
func Read(text []byte, name string) (*taken.Taken, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for _, f := range Table() {
		if f.Name != name && (name != "" || !f.Looks(text)) {
			continue
		}
		t, err := f.Read(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		case len(t.Steps) == 0:
			return t, fmt.Errorf("%s: no request in it that takt can take over", f.Name)
		case len(t.Steps) > taken.MaxSteps:
			return t, fmt.Errorf("%s: it has more than %d requests, the most that a scenario has; give a part of it, or write a list for --targets", f.Name, taken.MaxSteps)
		}
		t.End(f.About)
		return t, nil
	}
	return nil, errors.New("takt does not know what this is; give --format " + strings.Join(Names(), ", "))
}
