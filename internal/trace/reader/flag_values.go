package reader

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// zoneValue is a flag.Value: a name of the zone database, or an offset.
type zoneValue struct{ zone **time.Location }

func (z *zoneValue) String() string {
	if z.zone == nil || *z.zone == nil {
		return ""
	}
	return (*z.zone).String()
}

// Set implements flag.Value.
func (z *zoneValue) Set(s string) error {
	if s == "local" {
		*z.zone = time.Local
		return nil
	}
	if seconds, ok := parse.ZoneOffset([]byte(s)); ok {
		*z.zone = time.FixedZone(s, seconds)
		return nil
	}
	zone, err := time.LoadLocation(s)
	if err != nil || s == "" {
		return fmt.Errorf("zone %.60q is not known on this machine; give a name such as Europe/Berlin, or an offset such as -0500", s)
	}
	*z.zone = zone
	return nil
}

// methodsValue is a flag.Value: methods with commas between them.
type methodsValue []string

func (m *methodsValue) String() string { return strings.Join(*m, ",") }

// Set implements flag.Value.
func (m *methodsValue) Set(s string) error {
	*m = nil
	for name := range strings.SplitSeq(s, ",") {
		name = strings.ToUpper(strings.TrimSpace(name))
		if name != "*" && !parse.IsMethod([]byte(name)) {
			return fmt.Errorf("%.60q is not a method; write GET,HEAD,POST, or * for all", name)
		}
		*m = append(*m, name)
	}
	return nil
}

// patternValue is a flag.Value: a regular expression.
type patternValue struct{ re **regexp.Regexp }

func (p *patternValue) String() string {
	if p.re == nil || *p.re == nil {
		return ""
	}
	return (*p.re).String()
}

// Set implements flag.Value.
func (p *patternValue) Set(s string) error {
	re, err := regexp.Compile(s)
	if err != nil {
		return fmt.Errorf("%w; correct the regular expression", err)
	}
	*p.re = re
	return nil
}

// changesValue is a repeatable flag.Value of REGEXP=>TEXT.
type changesValue []trace.Substitution

func (c *changesValue) String() string {
	var parts []string
	for _, s := range *c {
		parts = append(parts, s.Match.String()+"=>"+s.With)
	}
	return strings.Join(parts, " ")
}

// Set implements flag.Value.
func (c *changesValue) Set(s string) error {
	change, err := trace.ParseSubstitution(s)
	if err == nil {
		*c = append(*c, change)
	}
	return err
}
