package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/foreign"
)

// adminCommands are for the role admin, and for the owner's own sessions.
func adminCommands() []command {
	return []command{
		{name: "audit", args: "[-n N] [TEXT]", short: "show the newest lines of the audit log that contain TEXT", prepare: prepareAudit, admin: true,
			long: "The default of N is 20. Only for the role admin, and for the owner of the server."},
		{name: "reload", short: "read the token file and the team file again", admin: true, prepare: do(func(c *session) {
			if err := c.server.Reload(); err != nil {
				c.fail(fmt.Errorf("%w; nothing has changed", err))
				return
			}
			c.say("the token file and the team file are read again")
		}),
			long: `SIGHUP does the same. If a file is wrong, nothing changes. A session whose token is gone
ends at its next line; its jobs go on. Only for the role admin, and for the owner of the
server.`},
	}
}

// errAdmin refuses a command to other roles.
const errAdmin = Denied("this is for the role admin; ask an admin of this server")

// maxTail is how far back audit reads, in bytes.
const maxTail = 4 << 20

func prepareAudit(c *session, args []string) (action, error) {
	n := 20
	if len(args) > 1 && args[0] == "-n" {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil || n < 1 || n > 10_000 {
			return action{}, fmt.Errorf("%q is not a number of lines from 1 to 10000", args[1])
		}
		args = args[2:]
	}
	if len(args) > 1 {
		return action{}, errors.New("write audit [-n N] [TEXT]; quote a TEXT with spaces")
	}
	text := strings.Join(args, "")
	if c.server.audit == nil {
		return action{}, errors.New("this server has no audit log; its owner can start it with --audit-log FILE")
	}
	return action{now: func(c *session) { c.showAudit(n, text) }}, nil
}

// showAudit says the newest n lines of the audit log that contain a text.
func (c *session) showAudit(n int, text string) {
	b, err := tailOf(c.server.audit.path)
	if err != nil {
		c.fail(fmt.Errorf("the audit log cannot be read: %w", err))
		return
	}
	var lines []string
	for line := range bytes.Lines(b) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue // the first line may be cut off
		}
		if shown := r.String(); strings.Contains(shown, text) {
			lines = append(lines, shown)
		}
	}
	for _, line := range lines[max(0, len(lines)-n):] {
		c.say(foreign.Text(line))
	}
}

// String is the line for people.
func (r record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", r.Time.Format("2006-01-02 15:04:05Z"), r.User)
	if r.Role != "" {
		fmt.Fprintf(&b, " (%s)", r.Role)
	}
	fmt.Fprintf(&b, "  %s", r.Event)
	if r.Job > 0 {
		fmt.Fprintf(&b, " %d", r.Job)
	}
	if r.Command != "" {
		fmt.Fprintf(&b, "  %s", r.Command)
	}
	return b.String() + ": " + r.Outcome + "  from " + r.From
}

// tailOf reads the end of a file.
func tailOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		_, err = f.Seek(max(0, info.Size()-maxTail), io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxTail))
}
