package verifycmd

import (
	"fmt"
	"io"
	"slices"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/value"
)

// cores divides the CPUs between the servers and takt.
type cores struct {
	text    string // of --server-cpus
	servers []int  // CPUs of the servers; nil: all
	rest    []int  // CPUs of takt while it sends load; nil: all
	restore func() // lets takt use all CPUs again; nil: it may use all
}

// choose reads --server-cpus.
func (c *cores) choose() (err error) {
	switch c.text {
	case "":
	case "auto":
		var ok bool
		if c.servers, ok = proc.LaterHalf(proc.Cores()); !ok {
			return value.Faultf("--server-cpus auto needs 4 CPUs and 2 cores that takt may use, on Linux; leave it out")
		}
	default:
		if c.servers, err = proc.ParseCPUs(c.text); err == nil {
			err = missing(c.servers, slices.Concat(proc.Cores()...))
		}
	}
	return value.Bad("server-cpus", c.text, err)
}

// missing is the fault of CPUs that takt may not use, so that its servers may not either. allowed nil: not
// known.
func missing(wanted, allowed []int) error {
	for _, cpu := range wanted {
		if allowed != nil && !slices.Contains(allowed, cpu) {
			slices.Sort(allowed)
			return fmt.Errorf("there is no CPU %d that takt may use; give some of %s", cpu, proc.CPUList(allowed))
		}
	}
	return nil
}

// divide keeps takt off the CPUs of the servers, and says so.
func (c *cores) divide(out io.Writer) {
	if c.servers == nil {
		return
	}
	c.rest = slices.DeleteFunc(slices.Concat(proc.Cores()...), func(cpu int) bool { return slices.Contains(c.servers, cpu) })
	slices.Sort(c.rest)
	if len(c.rest) == 0 {
		c.rest = nil
		fmt.Fprintf(out, "verify: the servers use the CPUs %s, and takt may use no other CPU, so both share them\n", proc.CPUList(c.servers))
		return
	}
	if err := c.leave(); err != nil {
		c.rest = nil
		fmt.Fprintf(out, "verify: takt does not stay off the CPUs of the servers: %v\n", err)
		return
	}
	fmt.Fprintf(out, "verify: the servers use the CPUs %s, and takt the CPUs %s\n", proc.CPUList(c.servers), proc.CPUList(c.rest))
}

// leave lets takt use only the rest. A build needs all CPUs, so it calls join before.
func (c *cores) leave() (err error) {
	if c.rest != nil && c.restore == nil {
		c.restore, err = proc.Pin(c.rest)
	}
	return err
}

// join lets takt use all CPUs again.
func (c *cores) join() {
	if c.restore != nil {
		c.restore()
		c.restore = nil
	}
}
