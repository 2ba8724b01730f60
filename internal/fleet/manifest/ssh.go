package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

func sshEngine() Engine {
	return Engine{
		Name:  "ssh",
		Short: "a script that runs the gatherer here, and the shards on hosts by ssh",
		Long: `takt prints a script for sh. It runs takt fleet on this machine and takt shard on each
host, with a new token at each run, and ends with the exit code of the run. Each host
needs takt of the same version, and a login without a password. The shards connect through
ssh, or with --address directly.`,
		Endless: true,
		Example: `  takt fleet manifest ssh --hosts load1,load2 -- http --rate 400k/s -z 5m http://shop/ > fleet.sh
  sh fleet.sh`,
		New: func() Writer { return &ssh{program: "takt"} },
	}
}

// ssh are the options of a script that starts the shards by ssh.
type ssh struct {
	hosts   []string // as in ssh HOST
	program string   // takt on the hosts
	address string   // of this machine for the hosts; "": a tunnel of ssh
}

// AddFlags implements Writer.
func (s *ssh) AddFlags(fs *pflag.FlagSet, f *Fleet) {
	fs.Var(value.List(&s.hosts), "hosts", "start shards on these `HOSTS`, with commas between them, as in ssh HOST; repeatable; more shards than hosts share the hosts (default for --shards: one a host)")
	fs.Var(value.Text(&s.program), "program", "`PATH` of takt on the hosts")
	fs.Var(value.Text(&s.address), "address", "`HOST` by which the hosts reach this machine; default: through ssh, which needs no open port")
}

// Started is the flag of takt fleet for the script, which starts the shards itself.
const Started = "started"

// The texts that are part of a remote command without quotes, which a host's own shell reads: it
// need not be a shell of POSIX. A host must not begin with a dash: ssh would take it for a flag.
var (
	goodHost    = regexp.MustCompile(`^[A-Za-z0-9_\[][-A-Za-z0-9_.:@%\[\]]*$`)
	goodProgram = regexp.MustCompile(`^[A-Za-z0-9_./~][-A-Za-z0-9_./~+]*$`)
)

// Validate implements Writer.
func (s *ssh) Validate(f *Fleet) (faults []error) {
	faults = s.checkHosts(f)
	var more value.Faults
	more.If(!goodProgram.MatchString(s.program), "--program is %.60q; give a path of letters, digits, dots and dashes", s.program)
	more.If(s.address != "" && !goodHost.MatchString(s.address), "--address is %.60q; give a host name or an address", s.address)
	more.If(s.address == "" && f.Port+f.Shards > 65535, "--port is %d, and with %d shards the hosts would need ports above 65535; give a smaller one", f.Port, f.Shards)
	return append(faults, more...)
}

// checkHosts splits the hosts. Each has a shard if the number of shards is not given.
func (s *ssh) checkHosts(f *Fleet) []error {
	var faults value.Faults
	var hosts []string
	for _, text := range s.hosts {
		for host := range strings.SplitSeq(text, ",") {
			faults.If(!goodHost.MatchString(host), "--hosts has %.60q; write names or addresses as in ssh HOST, with commas between them", host)
			hosts = append(hosts, host)
		}
	}
	s.hosts = hosts
	faults.If(len(hosts) == 0, "--hosts is missing; name the hosts of the shards, as in --hosts load1,load2")
	if f.Shards == 0 {
		f.Shards = max(1, len(hosts))
	}
	faults.If(f.Shards < len(hosts), "--shards is %d, but there are %d hosts; leave out --shards for one shard a host", f.Shards, len(hosts))
	return faults
}

// Text implements Writer.
func (s *ssh) Text(f *Fleet) string {
	listen := fmt.Sprintf("127.0.0.1:%d", f.Port)
	if s.address != "" {
		listen = f.Address()
	}
	lines := []string{
		fmt.Sprintf("A fleet of takt: the gatherer on this machine, and %s by ssh. The exit code is that of the run.", shardsWord(f.Shards)),
		"The hosts must accept a login without a password, and have takt of the same version.",
	}
	if len(f.Reads) > 0 {
		lines = append(lines, "", "The command reads these files. They must be here and in the home folder of each host, with the same names:")
		for _, name := range f.Reads {
			lines = append(lines, "  "+shellWord(name))
		}
	}
	var starts strings.Builder
	for i := range f.Shards {
		host := s.hosts[i%len(s.hosts)]
		if s.address == "" { // a port for each shard: several may be on one host, and one on this machine
			fmt.Fprintf(&starts, "shard %s 127.0.0.1:%d -R 127.0.0.1:%d:%s\n", host, f.Port+1+i, f.Port+1+i, listen)
		} else {
			fmt.Fprintf(&starts, "shard %s %s:%d\n", host, s.address, f.Port)
		}
	}
	// The gatherer starts first. A shard that is left over must not wait for the next one.
	program := s.program + " shard --fleet $address --join-timeout 20s --fleet-token-file /dev/stdin"
	// A shard that ended before the start: the gatherer would wait for it until --join-timeout. One
	// that ended later, the gatherer knows, and ends within seconds.
	lost := "126 | 127 | 255) kill -USR1 $$ ;; # it did not start\n\t\t*) sleep 10 & ssh=$!; wait \"$ssh\"; kill -USR1 $$ ;;"
	if f.MayLose() > 0 {
		lost = "126 | 127) kill -USR1 $$ ;; # it did not start"
	}
	return "#!/bin/sh\n" + comment(lines) + fmt.Sprintf(sshScript, program, lost, shellWords(slices.Insert(f.Gatherer(listen), 1, "--"+Started)), starts.String())
}

// sshScript has the places of: the command of the hosts, what is done when a shard has failed, the
// words of takt here, and the starts of the shards.
//
// ps shows the token nowhere: the gatherer has it in its environment, and the shards get it through
// standard input. A shard notices that its gatherer is gone, so nothing needs to be ended on the
// hosts. A Ctrl-C reaches the gatherer by itself; a second signal would abort its run.
const sshScript = `set -u
takt=${TAKT:-takt} # on this machine
token=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
shards='' gatherer='' failed='' caught=''

# shard HOST ADDRESS [FLAGS OF SSH]: a shard on a host, for a gatherer at this address.
shard() {
	host=$1 address=$2
	shift 2
	(
		trap 'kill "$ssh" 2>/dev/null; exit' TERM
		printf '%%s\n' "$token" | ssh -T -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=5 -o ExitOnForwardFailure=yes "$@" "$host" \
			"exec %s" &
		ssh=$!
		wait "$ssh"
		code=$?
		[ "$code" = 0 ] || echo "the shard on $host ended with exit code $code" >&2
		case $code in
		0) ;;
		%s
		esac
	) &
	shards="$shards $!"
}

finish() {
	trap '' INT TERM HUP USR1
	[ "$1" = 0 ] || sleep 1 # for what the shards say
	# shellcheck disable=SC2086 # a list of numbers
	kill $shards 2>/dev/null
	wait
	exit "$1"
}
trap 'caught=1 failed=1; kill "$gatherer" 2>/dev/null' USR1
trap 'caught=1; kill "$gatherer" 2>/dev/null' TERM HUP
trap 'caught=1' INT

TAKT_FLEET_TOKEN=$token "$takt" %s &
gatherer=$!

%s
# A signal ends wait, and not the gatherer.
caught=1
while [ -n "$caught" ]; do
	caught=''
	wait "$gatherer"
	code=$?
done
[ -z "$failed" ] || code=1
finish "$code"
`
