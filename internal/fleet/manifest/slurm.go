package manifest

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

func slurmEngine() Engine {
	return Engine{
		Name:  "slurm",
		Short: "a script for sbatch: one allocation with all shards and the gatherer",
		Long: `takt prints a script for sbatch. The script asks for one allocation, starts the
gatherer on its first node, and a shard as each task. Options of sbatch, such as
--partition, --account or --exclusive, replace those in the script.

The exit code of the script is that of the run, and sbatch --wait passes it on.`,
		Example: `  takt fleet manifest slurm --shards 8 -- http --rate 400k/s -z 5m http://shop/ > fleet.sh
  sbatch --wait --partition load fleet.sh; echo $?`,
		New: func() Writer { return slurm{} },
	}
}

// slurm is a script for sbatch.
type slurm struct{}

// AddFlags implements Writer.
func (slurm) AddFlags(fs *pflag.FlagSet, f *Fleet) { f.addCPUsFlag(fs) }

// Validate implements Writer.
func (slurm) Validate(*Fleet) []error { return nil }

const (
	// slurmNotice is how long before its limit Slurm tells the script, which ends the run then.
	slurmNotice = time.Minute
	// slurmRest is how long shards may live after the gatherer.
	slurmRest = 30 * time.Second
)

// Text implements Writer.
func (slurm) Text(f *Fleet) string {
	var b strings.Builder
	fmt.Fprintf(&b, slurmOptions, f.Name, f.Shards, f.CPUs, slurmMinutes(f.Limit()), int(slurmNotice.Seconds()))
	fmt.Fprintf(&b, slurmScript, f.Shards, f.CPUs, f.JoinTimeout, f.Port, bashWords(f.Gatherer(f.Address())), int(slurmRest.Seconds()))
	return b.String()
}

// slurmMinutes is a limit for --time, which counts whole minutes. Slurm sends the notice up to a
// minute early.
func slurmMinutes(limit time.Duration) int {
	return int((limit + slurmNotice + time.Minute + time.Minute - 1) / time.Minute)
}

// slurmOptions are the lines that sbatch reads, up to the first command. So no word of the user
// is among them.
const slurmOptions = `#!/bin/bash
# A gatherer of takt and its shards, in one allocation of Slurm.
#   sbatch --wait fleet.sh; echo $?
# The exit code is that of the run, and the report is in %[1]s-JOB.log.
# Options on the command line of sbatch replace those below.
#SBATCH --job-name=%[1]s
#SBATCH --output=%[1]s-%%j.log
#SBATCH --ntasks=%[2]d
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=%[3]d
#SBATCH --time=%[4]d
# The script gets TERM before the limit, and ends the run.
#SBATCH --signal=B:TERM@%[5]d
# A run that was interrupted is not repeated, and the gatherer decides what a lost node means.
#SBATCH --no-requeue
#SBATCH --no-kill

`

// slurmScript uses what bash has beyond POSIX: it remembers the exit code of a process that ended
// before wait, and $'...' keeps line breaks of words out of the script, which sbatch would refuse
// (\r) or read (#SBATCH).
const slurmScript = `command -v takt >/dev/null || { echo "takt is not in PATH on $(hostname)" >&2; exit 1; }

# A secret of this job. Slurm stores the script and the environment of sbatch, but not this.
TAKT_FLEET_TOKEN=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
export TAKT_FLEET_TOKEN
unset TAKT_FLEET_TOKEN_FILE

takt %[5]s &
gatherer=$!
trap 'kill -TERM "$gatherer" 2>/dev/null' TERM INT

# --export: sbatch --export=NONE would keep the token from the shards.
# --cpus-per-task: srun 22.05 to 23.02 ignores that of sbatch.
# --kill-on-bad-exit, --wait, --no-kill: a lost shard ends the run by the gatherer, with a report.
srun --ntasks=%[1]d --cpus-per-task="${SLURM_CPUS_PER_TASK:-%[2]d}" --export=ALL --mpi=none --input=none --label \
  --kill-on-bad-exit=0 --wait=0 --no-kill \
  takt shard --fleet "$(hostname):%[4]d" --join-timeout %[3]v &
shards=$!

# A signal ends wait; the gatherer ends the run first.
wait "$gatherer"
while kill -0 "$gatherer" 2>/dev/null; do wait "$gatherer"; done
wait "$gatherer"
code=$?

for _ in $(seq %[6]d); do
  kill -0 "$shards" 2>/dev/null || break
  sleep 1
done
exit "$code"
`
