package engine_test

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/engine"
)

// environment is a process environment: words of NAME=VALUE.
func environment(words string) func(string) string {
	vars := map[string]string{}
	for _, word := range strings.Fields(words) {
		name, value, _ := strings.Cut(word, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }
}

// array are Slurm's variables of task id in an array of single tasks, whose script runs takt.
func array(id string) string {
	return "SLURM_JOB_ID=71 SLURM_ARRAY_JOB_ID=70 SLURM_PROCID=0 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=6 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_ID=" + id
}

func TestShardAuto(t *testing.T) {
	const batch = "AWS_BATCH_JOB_ARRAY_INDEX=7 AWS_BATCH_JOB_ARRAY_SIZE=8 AWS_BATCH_JOB_ID=0b55-77:7"
	for _, test := range []struct {
		env                string
		shard, from, group string
	}{
		{"JOB_COMPLETION_INDEX=0 TAKT_SHARDS=8", "1/8", "JOB_COMPLETION_INDEX=0, TAKT_SHARDS=8", ""},
		{"JOB_COMPLETION_INDEX=7 TAKT_SHARDS=8 TAKT_RUN_GROUP=uid", "8/8", "JOB_COMPLETION_INDEX=7, TAKT_SHARDS=8", "uid"},
		{"JOB_COMPLETION_INDEX=0 TAKT_SHARDS=1", "1/1", "JOB_COMPLETION_INDEX=0, TAKT_SHARDS=1", ""},
		{"SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_STEP_ID=0 SLURM_JOB_ID=70", "1/8", "SLURM_PROCID=0, SLURM_NTASKS=8", "70"},
		{"SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_JOB_ID=70", "2/8", "SLURM_PROCID=1, SLURM_NTASKS=8", "70"},
		// srun --ntasks 4 in a job of 8 tasks
		{"SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_ID=1 SLURM_JOB_ID=70", "4/4", "SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=4", "70"},
		{"SLURM_PROCID=1 SLURM_NTASKS=8 TAKT_SHARDS=8", "2/8", "SLURM_PROCID=1, SLURM_NTASKS=8", ""},
		// an array of single tasks, without srun and with it
		{array("3"), "1/4", "SLURM_ARRAY_TASK_ID=3, SLURM_ARRAY_TASK_COUNT=4", "70"},
		{array("6") + " SLURM_NTASKS=1 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0", "4/4", "SLURM_ARRAY_TASK_ID=6, SLURM_ARRAY_TASK_COUNT=4", "70"},
		// the script of an array whose jobs have several tasks, which nobody started
		{array("6") + " SLURM_NTASKS=2", "4/4", "SLURM_ARRAY_TASK_ID=6, SLURM_ARRAY_TASK_COUNT=4", "70"},
		// an array of one job with several tasks
		{"SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_JOB_ID=71 SLURM_ARRAY_JOB_ID=70 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=1", "2/2", "SLURM_PROCID=1, SLURM_NTASKS=2", "71"},
		{batch, "8/8", "AWS_BATCH_JOB_ARRAY_INDEX=7, AWS_BATCH_JOB_ARRAY_SIZE=8", "0b55-77"},
		{"PARALLEL_SEQ=1 TAKT_SHARDS=3", "1/3", "PARALLEL_SEQ=1, TAKT_SHARDS=3", ""},
		{"PARALLEL_SEQ=3 TAKT_SHARDS=3", "3/3", "PARALLEL_SEQ=3, TAKT_SHARDS=3", ""},
		// GNU parallel in the script of a Slurm job
		{"PARALLEL_SEQ=3 TAKT_SHARDS=3 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_ID=70", "3/3", "PARALLEL_SEQ=3, TAKT_SHARDS=3", ""},
		// the user's own variable goes before those of launchers
		{"TAKT_SHARD=2/8", "2/8", "TAKT_SHARD=2/8", ""},
		{"TAKT_SHARD=2/8 SLURM_PROCID=5 SLURM_NTASKS=8", "2/8", "TAKT_SHARD=2/8", ""},
		{"TAKT_SHARD=auto SLURM_PROCID=5 SLURM_NTASKS=8", "6/8", "SLURM_PROCID=5, SLURM_NTASKS=8", ""},
	} {
		shard, group := engine.MustShard("auto"), engine.RunGroup{}
		if err := shard.Resolve(environment(test.env), &group); err != nil {
			t.Errorf("%s: %v", test.env, err)
			continue
		}
		text, from := shard.Resolved()
		if text != test.shard || from != test.from || group.String() != test.group {
			t.Errorf("%s: %s by %q, group %q; want %s by %q, group %q", test.env, text, from, group, test.shard, test.from, test.group)
		}
	}
}

func TestShardAutoRefuses(t *testing.T) {
	for _, test := range []struct{ env, want string }{
		{"", "looked for TAKT_SHARD, JOB_COMPLETION_INDEX, SLURM_PROCID, SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX, PARALLEL_SEQ; give --shard k/n, or set TAKT_SHARD=k/n"},
		{"TAKT_SHARDS=8", "TAKT_SHARDS=8 is set, but says only how many there are"},
		{"SLURM_NTASKS=8", "SLURM_NTASKS=8 is set, but says only how many there are"},
		{"JOB_COMPLETION_INDEX=0", "JOB_COMPLETION_INDEX=0 numbers this process, but TAKT_SHARDS is not set, the number of processes; a Job does not tell it: set TAKT_SHARDS"},
		{"PARALLEL_SEQ=1", "PARALLEL_SEQ=1 numbers this process, but TAKT_SHARDS is not set"},
		{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS or SLURM_NTASKS is not set"},
		{"JOB_COMPLETION_INDEX=8 TAKT_SHARDS=8", "JOB_COMPLETION_INDEX=8 is not one of the 8 processes from 0 to 7 that TAKT_SHARDS=8 allows"},
		{"PARALLEL_SEQ=0 TAKT_SHARDS=8", "PARALLEL_SEQ=0 is not one of the 8 processes from 1 to 8"},
		{"PARALLEL_SEQ=9 TAKT_SHARDS=8", "PARALLEL_SEQ=9 is not one of"},
		{"PARALLEL_SEQ=1 TAKT_SHARDS=0", "PARALLEL_SEQ=1 is not one of"},
		{"PARALLEL_SEQ=x TAKT_SHARDS=8", "PARALLEL_SEQ=x is not a whole number"},
		{"PARALLEL_SEQ=-1 TAKT_SHARDS=8", "PARALLEL_SEQ=-1 is not a whole number"},
		{"JOB_COMPLETION_INDEX=1 TAKT_SHARDS=99999999999", "TAKT_SHARDS=99999999999 is not a whole number"},
		{array("7"), "SLURM_ARRAY_TASK_ID=7 is not one of the 4 processes from 3 to 6"},
		{array("2"), "SLURM_ARRAY_TASK_ID=2 is not one of"},
		{strings.Replace(array("3"), "STEP=1", "STEP=2", 1), "SLURM_ARRAY_TASK_STEP=2 leaves gaps"},
		{strings.Replace(array("3"), "MAX=6", "MAX=9", 1), "an array of 4 numbers from SLURM_ARRAY_TASK_MIN=3 to SLURM_ARRAY_TASK_MAX=9 has gaps"},
		{strings.Replace(array("3"), "MIN=3", "MIN=", 1), "SLURM_ARRAY_TASK_MIN= is not a whole number"},
		{array("4") + " SLURM_NTASKS=2 SLURM_STEP_ID=0", "several launchers number this process: Slurm task (SLURM_PROCID=0, SLURM_NTASKS=2) and Slurm array (SLURM_ARRAY_TASK_ID=4, SLURM_ARRAY_TASK_COUNT=4); say which shard it is with --shard k/n or TAKT_SHARD=k/n"},
		{"JOB_COMPLETION_INDEX=1 PARALLEL_SEQ=2 TAKT_SHARDS=8", "several launchers"},
		{"SLURM_PROCID=0 SLURM_NTASKS=8", "SLURM_PROCID=0 is set without SLURM_STEP_ID, so this is not one of the tasks but the script that starts them; start takt by srun"},
		{"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_ID=0", "SLURM_NTASKS=1 of a Slurm task says that there is only one process, which is no shard; raise --ntasks, leave out --shard, or set TAKT_SHARDS=1"},
		{"SLURM_PROCID=1 SLURM_NTASKS=8 TAKT_SHARDS=4", "SLURM_NTASKS=8 and TAKT_SHARDS=4 differ"},
		{"TAKT_SHARD=9/2", `TAKT_SHARD: "9/2" is not a shard`},
		// a replicated-job of Swarm
		{"TAKT_SHARD=q8n2vbsuurypoz2yd5xkrwkq0/3", "has the id of a Swarm node as k: the mode replicated-job does not number its first task; use a service of the mode replicated"},
		{"TAKT_SHARD=0/3", `"0/3" is not a shard`},
	} {
		shard, group := engine.MustShard("auto"), engine.RunGroup{}
		err := shard.Resolve(environment(test.env), &group)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v; want %s", test.env, shard, err, test.want)
		}
	}
}

func TestRunGroupAuto(t *testing.T) {
	for _, test := range []struct{ shard, given, env, want, fault string }{
		{"", "", "SLURM_JOB_ID=70", "", ""}, // nobody asked
		{"2/3", "", "SLURM_JOB_ID=70", "", ""},
		{"2/3", "auto", "SLURM_JOB_ID=70", "70", ""},
		{"", "auto", "SLURM_JOB_ID=71 SLURM_ARRAY_JOB_ID=70", "70", ""},
		{"", "auto", "AWS_BATCH_JOB_ID=0b55-77:7", "0b55-77", ""},
		{"", "auto", "AWS_BATCH_JOB_ID=0b55-77", "0b55-77", ""},
		{"", "auto", "TAKT_RUN_GROUP=uid SLURM_JOB_ID=70", "uid", ""},
		{"", "auto", "TAKT_RUN_GROUP=auto SLURM_JOB_ID=70", "70", ""},
		{"auto", "nightly", "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=70", "nightly", ""},
		{"auto", "auto", "PARALLEL_SEQ=1 TAKT_SHARDS=2 SLURM_JOB_ID=70", "70", ""},
		{"auto", "auto", "PARALLEL_SEQ=1 TAKT_SHARDS=2", "", "takt looked for TAKT_RUN_GROUP, SLURM_JOB_ID, SLURM_ARRAY_JOB_ID, AWS_BATCH_JOB_ID; give --run-group NAME"},
		{"", "auto", "", "", "no variable has the id of the run"},
		{"", "auto", "SLURM_JOB_ID=70 AWS_BATCH_JOB_ID=0b55", "", "the ids of several jobs, SLURM_JOB_ID=70 and AWS_BATCH_JOB_ID=0b55"},
	} {
		var shard engine.Shard
		if test.shard != "" {
			shard = engine.MustShard(test.shard)
		}
		var group engine.RunGroup
		_ = group.Set(test.given)
		err := shard.Resolve(environment(test.env), &group)
		switch {
		case test.fault == "" && (err != nil || group.String() != test.want):
			t.Errorf("%+v: %q, %v", test, group, err)
		case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
			t.Errorf("%+v: %q, %v", test, group, err)
		}
	}
}
