#!/bin/bash
# A gatherer of takt and its shards, in one allocation of Slurm.
#   sbatch --wait fleet.sh; echo $?
# The exit code is that of the run, and the report is in peak-JOB.log.
# Options on the command line of sbatch replace those below.
#SBATCH --job-name=peak
#SBATCH --output=peak-%j.log
#SBATCH --ntasks=40
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --time=62
# The script gets TERM before the limit, and ends the run.
#SBATCH --signal=B:TERM@60
# A run that was interrupted is not repeated, and the gatherer decides what a lost node means.
#SBATCH --no-requeue
#SBATCH --no-kill

command -v takt >/dev/null || { echo "takt is not in PATH on $(hostname)" >&2; exit 1; }

# A secret of this job. Slurm stores the script and the environment of sbatch, but not this.
TAKT_FLEET_TOKEN=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
export TAKT_FLEET_TOKEN
unset TAKT_FLEET_TOKEN_FILE

takt fleet --shards 40 --listen :9000 --join-timeout 1m0s --allow-lost 10% -- http -o json=- --body-file order.json --rate 400/s -z 10s http://shop/ &
gatherer=$!
trap 'kill -TERM "$gatherer" 2>/dev/null' TERM INT

# --export: sbatch --export=NONE would keep the token from the shards.
# --cpus-per-task: srun 22.05 to 23.02 ignores that of sbatch.
# --kill-on-bad-exit, --wait, --no-kill: a lost shard ends the run by the gatherer, with a report.
srun --ntasks=40 --cpus-per-task="${SLURM_CPUS_PER_TASK:-4}" --export=ALL --mpi=none --input=none --label \
  --kill-on-bad-exit=0 --wait=0 --no-kill \
  takt shard --fleet "$(hostname):9000" --join-timeout 1m0s &
shards=$!

# A signal ends wait; the gatherer ends the run first.
wait "$gatherer"
while kill -0 "$gatherer" 2>/dev/null; do wait "$gatherer"; done
wait "$gatherer"
code=$?

for _ in $(seq 30); do
  kill -0 "$shards" 2>/dev/null || break
  sleep 1
done
exit "$code"
