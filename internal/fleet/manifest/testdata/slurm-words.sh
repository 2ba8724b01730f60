#!/bin/bash
# A gatherer of takt and its shards, in one allocation of Slurm.
#   sbatch --wait fleet.sh; echo $?
# The exit code is that of the run, and the report is in takt-JOB.log.
# Options on the command line of sbatch replace those below.
#SBATCH --job-name=takt
#SBATCH --output=takt-%j.log
#SBATCH --ntasks=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=10
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

takt fleet --shards 1 --listen :8400 --join-timeout 5m0s -- '' ' ' ''\''' '"' '\' $'\012' $'a\012b: c' $'\011' $'\015' '$(TAKT_FLEET_TOKEN)' '$$(X)' '$HOME' '$' '`id`' '$(id)' '{{ .Task.Slot }}' %d % true null 1e3 0x10 '~' '- x' '# x' 'a #b' 'a: b' '&a' '*a' '!a' '|' '>' @ --- ... '[1]' '{a}' 'é' '🙂' ' ' '﻿' $'' $'\177' $'\001' EOF &
gatherer=$!
trap 'kill -TERM "$gatherer" 2>/dev/null' TERM INT

# --export: sbatch --export=NONE would keep the token from the shards.
# --cpus-per-task: srun 22.05 to 23.02 ignores that of sbatch.
# --kill-on-bad-exit, --wait, --no-kill: a lost shard ends the run by the gatherer, with a report.
srun --ntasks=1 --cpus-per-task="${SLURM_CPUS_PER_TASK:-2}" --export=ALL --mpi=none --input=none --label \
  --kill-on-bad-exit=0 --wait=0 --no-kill \
  takt shard --fleet "$(hostname):8400" --join-timeout 5m0s &
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
