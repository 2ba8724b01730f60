# shellcheck shell=bash disable=SC2154 # part of scripts/servers, which sets run, here and debian

fetch_slurm() {
	unpack "munge slurmctld slurmd slurm-client" "usr/sbin/munged usr/sbin/slurmctld-wlm usr/sbin/slurmd-wlm usr/bin/srun"
}

# start_slurm prints a folder with Slurm's commands (sbatch, srun, ...) for a cluster of its
# own: a controller and four nodes, n1 to n4, all on this host, for jobs of the user who
# starts it. Root is not needed, because the nodes neither bind CPUs nor have cgroups.
start_slurm() {
	slurm_stopped || die "slurm runs already; stop it with: scripts/servers stop slurm"
	fresh_run
	local port; port=$(free_port)
	mkdir -p "$run/bin" "$run/state"
	sed "s#@RUN@#$run#; s#@PLUGINS@#$(slurm_plugins)#; s#@PORT@#$port#; s#@NODES@#[$((port + 1))-$((port + 4))]#; s#@USER@#$(id -un)#
		s#@HOST@#$(hostname -s)#" "$here/servers.d/slurm.conf" >"$run/slurm.conf"
	slurm_commands
	local daemon
	"$run/bin/mungekey" --create --keyfile "$run/munge.key"
	# force: $run may be below a folder that others may write.
	slurm_daemon munged munged --foreground --force --key-file "$run/munge.key" --socket "$run/munge.socket" \
		--pid-file "$run/munged.own.pid" --log-file "$run/munged.log" --seed-file "$run/munge.seed"
	for _ in $(seq 100); do [ ! -S "$run/munge.socket" ] || break; sleep 0.05; done
	slurm_daemon slurmctld slurmctld-wlm -D -i -f "$run/slurm.conf"
	for daemon in n1 n2 n3 n4; do
		slurm_daemon "$daemon" slurmd-wlm -D -N "$daemon" -f "$run/slurm.conf" -d "$run/bin/slurmstepd-wlm"
	done
	for _ in $(seq 400); do
		if [ "$("$run/bin/sinfo" -h -t idle -o %D 2>/dev/null)" = 4 ]; then
			echo "$run/bin"
			return
		fi
		sleep 0.05
	done
	tail -n 20 "$run"/*.out "$run"/*.log >&2
	stop_slurm
	die "slurm did not start"
}

# stop_slurm ends the jobs first: their steps would outlive the nodes.
stop_slurm() {
	if running "$run/slurmctld.pid"; then
		"$run/bin/scancel" --user "$(id -un)" 2>/dev/null || true
		for _ in $(seq 300); do [ -n "$("$run/bin/squeue" -h 2>/dev/null)" ] || break; sleep 0.05; done
	fi
	local daemon
	for daemon in n1 n2 n3 n4; do # all at once: each needs seconds
		! running "$run/$daemon.pid" || kill "$(cat "$run/$daemon.pid")"
	done
	for daemon in n1 n2 n3 n4 slurmctld munged; do
		patience=200 stop "$run/$daemon.pid"
	done
	rm -rf "$run/state" "$run"/spool.*
}

slurm_stopped() {
	local daemon
	for daemon in n1 n2 n3 n4 slurmctld munged; do
		! running "$run/$daemon.pid" || return 1
	done
}

# slurm_daemon NAME PROGRAM ARGUMENTS: runs it in the background.
slurm_daemon() {
	setsid "$run/bin/$2" "${@:3}" >"$run/$1.out" 2>&1 </dev/null &
	echo $! >"$run/$1.pid"
}

# slurm_commands writes a script for each program, which finds its libraries and this cluster.
slurm_commands() {
	local program plugins; plugins=$(slurm_plugins)
	for program in bin/{sbatch,srun,scancel,squeue,sinfo,scontrol} sbin/{munged,mungekey,slurmctld-wlm,slurmd-wlm,slurmstepd-wlm}; do
		cat >"$run/bin/$(basename "$program")" <<-EOF
			#!/bin/sh
			LD_LIBRARY_PATH='$(libraries)$plugins' SLURM_CONF='$run/slurm.conf' exec '$(unpacked "usr/$program")' "\$@"
		EOF
	done
	chmod +x "$run"/bin/*
}

slurm_plugins() {
	local all=(/usr/lib/*-linux-gnu/slurm-wlm "$debian"/usr/lib/*-linux-gnu/slurm-wlm) dir
	for dir in "${all[@]}"; do
		[ ! -e "$dir/auth_munge.so" ] || { echo "$dir"; return; }
	done
}
