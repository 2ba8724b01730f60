// Package manifest writes a fleet as text for the engine that starts its processes, such as
// Kubernetes. It applies nothing.
package manifest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// Engine is one way to start the processes of a fleet, as takt fleet manifest NAME.
type Engine struct {
	Name    string
	Short   string // one line of help
	Long    string
	Example string
	Endless bool // nothing ends the fleet from outside

	New func() Writer // with default options
}

// Writer is an engine with its options.
type Writer interface {
	// AddFlags declares the flags of the engine, and those of Fleet that it uses beyond the
	// common ones.
	AddFlags(fs *pflag.FlagSet, f *Fleet)
	// Validate returns every fault of the options.
	Validate(f *Fleet) []error
	// Text is the manifest of a fleet without faults. It ends with a line break.
	Text(f *Fleet) string
}

// Engines lists the engines in the order of help.
func Engines() []Engine {
	return []Engine{kubernetesEngine(), slurmEngine(), swarmEngine(), sshEngine()}
}

// Fleet is what all engines know of a fleet: two programs, the gatherer and n shards.
type Fleet struct {
	Name    string // of what the engine creates
	Shards  int
	Command []string // the load command, which the gatherer passes to the shards
	Reads   []string // files that Command reads, on the gatherer and on each shard
	Writes  []string // files that Command writes, on the gatherer

	Port        int           // where the gatherer listens
	JoinTimeout time.Duration // limit for the start of all shards
	AllowLost   float64       // share of the shards that may be lost
	Endless     bool          // Deadline does not apply
	Deadline    time.Duration // limit of the whole; 0: JoinTimeout + Span and a reserve
	Span        time.Duration // of the load with its warm-up and drain; 0: unknown
	Drain       time.Duration // the part of Span in which open operations end

	Image  string // with takt as its entrypoint
	CPUs   int    // whole cores of each shard
	Memory string // of each shard and of the gatherer, such as 512Mi
	ID     string // fresh, and no secret: no two manifests are the same
	Token  string // fresh random secret, for a manifest that has one in its text
}

// Default is a fleet with the defaults of flags.
func Default() *Fleet {
	return &Fleet{Name: "takt", Port: 8400, JoinTimeout: 5 * time.Minute, Image: "takt", CPUs: 2, Memory: "512Mi"}
}

// AddFlags declares the flags that every engine has.
func (f *Fleet) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&f.Shards, "shards", f.Shards, "`N` shards")
	fs.Var(value.Text(&f.Name), "name", "`NAME` of the fleet, from which the names of its parts begin")
	fs.IntVar(&f.Port, "port", f.Port, "the gatherer listens on `PORT`")
	fs.Var(value.Duration(&f.JoinTimeout), "join-timeout", "fail if not all shards have joined after `TIME`")
	fs.Var(value.Share(&f.AllowLost), "allow-lost", "go on while at most this `SHARE` of the shards is lost, such as 10%; the run is invalid all the same")
	if f.Endless {
		return
	}
	fs.Var(value.Duration(&f.Deadline), "deadline", "the engine ends the whole after `TIME` (default: --join-timeout, the load, its drain and a reserve)")
}

// AddImageFlag declares --image, for engines that start containers.
func (f *Fleet) AddImageFlag(fs *pflag.FlagSet) {
	fs.Var(value.Text(&f.Image), "image", "container `IMAGE` with takt as its entrypoint")
}

// AddSizeFlags declares the cores and the memory of a shard.
func (f *Fleet) AddSizeFlags(fs *pflag.FlagSet) {
	f.addCPUsFlag(fs)
	fs.Var(value.Text(&f.Memory), "memory", "`SIZE` of memory for each shard, such as 512Mi or 2Gi")
}

func (f *Fleet) addCPUsFlag(fs *pflag.FlagSet) {
	fs.IntVar(&f.CPUs, "cpus", f.CPUs, "`N` whole cores for each shard")
}

// The limits of a fleet. Engines have their own limits, too.
const (
	maxShards = 10_000
	maxCPUs   = 1024
	mostLost  = 0.5
	maxName   = 40 // Kubernetes allows 63 letters, and appends to the name
)

// The names that all engines accept, and the sizes.
var (
	goodName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	goodSize = regexp.MustCompile(`^[1-9][0-9]{0,8}[KMGT]i$`)
)

// Validate returns every fault that does not depend on the engine.
func (f *Fleet) Validate() []error {
	var faults value.Faults
	faults.If(f.Shards == 0, "--shards is missing; give the number of shards, as in --shards 8")
	faults.If(f.Shards < 0 || f.Shards > maxShards, "--shards is %d; give a number from 1 to %d", f.Shards, maxShards)
	faults.If(len(f.Name) > maxName || !goodName.MatchString(f.Name), "--name is %.60q; use at most %d lower-case letters, digits and dashes, and begin with a letter", f.Name, maxName)
	faults.Range("port", f.Port, 1, 65535)
	faults.If(f.JoinTimeout <= 0, "--join-timeout is %v; give a time above 0", f.JoinTimeout)
	faults.If(f.AllowLost < 0 || f.AllowLost > mostLost, "--allow-lost is %s; give a share from 0%% to 50%%", value.Share(&f.AllowLost))
	faults.If(f.Deadline < 0, "--deadline is %v; give a time above 0", f.Deadline)
	faults.If(f.Deadline > 0 && f.Deadline <= f.JoinTimeout+f.Span, "--deadline is %v, but the shards may need %v to join and %v for their load; give more than %v", f.Deadline, f.JoinTimeout, f.Span, f.JoinTimeout+f.Span)
	faults.If(f.Deadline == 0 && f.Span == 0 && !f.Endless, "takt does not know how long the command runs; give a limit of the whole with --deadline, such as --deadline 1h")
	faults.Range("cpus", f.CPUs, 1, maxCPUs)
	faults.If(!goodSize.MatchString(f.Memory), "--memory is %.60q; give a size such as 512Mi or 2Gi", f.Memory)
	for _, word := range f.Command {
		faults.If(!utf8.ValidString(word) || strings.ContainsRune(word, 0), "after --: %.60q is not a text in UTF-8, and a manifest cannot contain it", word)
	}
	return faults
}

// Limit is the time after which the engine ends the whole.
func (f *Fleet) Limit() time.Duration {
	if f.Deadline > 0 {
		return f.Deadline
	}
	return (f.JoinTimeout + f.Span + reserve).Round(time.Second)
}

// reserve is for the start of the containers, the barrier and the merge of the reports. An
// engine that ends a fleet too late costs less than one that ends a good run.
const reserve = 2 * time.Minute

// MayLose is how many shards may be lost.
func (f *Fleet) MayLose() int { return int(math.Floor(f.AllowLost * float64(f.Shards))) }

// Gatherer returns the words after takt that start the gatherer on an address such as :8400.
func (f *Fleet) Gatherer(listen string) []string {
	words := []string{"fleet", "--shards", strconv.Itoa(f.Shards), "--listen", listen, "--join-timeout", f.JoinTimeout.String()}
	if f.AllowLost > 0 {
		words = append(words, "--allow-lost", value.Share(&f.AllowLost).String())
	}
	return append(append(words, "--"), f.Command...)
}

// Address is what --listen of a gatherer for other machines is.
func (f *Fleet) Address() string { return fmt.Sprintf(":%d", f.Port) }
