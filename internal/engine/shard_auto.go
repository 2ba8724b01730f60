package engine

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// The variables that users set for --shard auto.
const (
	shardVariable  = "TAKT_SHARD"  // k/n; also the variable of --shard itself
	ShardsVariable = "TAKT_SHARDS" // n, for launchers that only number their processes
)

// launcher is a program that starts several processes and tells each its number by variables. A
// launcher that others start, such as GNU parallel in a Slurm job, leaves their variables in place.
type launcher struct {
	name     string
	index    string   // number of this process
	first    uint64   // number of the first process
	counts   []string // number of processes; the first that is set counts
	array    *indices // the numbers are those of a list; nil: they are first, first + 1, …
	job      string   // id that all processes of a run have in common; "": there is none
	within   string   // id of a job whose parts are jobs of this kind
	parent   string   // what separates the common part of job from the rest; "": all is common
	started  string   // variable that only the started processes have; "": all who have index do
	instead  string   // what to do without started
	advice   string   // how to get a number of processes above 1
	noNumber string   // what to do about the missing number of processes
}

// indices are variables about a list of numbers.
type indices struct{ least, most, step string }

// launchers are the programs whose variables takt knows.
func launchers() []launcher {
	return []launcher{
		{
			name: "Kubernetes Indexed Job", index: "JOB_COMPLETION_INDEX", counts: []string{ShardsVariable},
			noNumber: "a Job does not tell it: set TAKT_SHARDS to the value of completions",
			advice:   "raise completions and TAKT_SHARDS",
		},
		{
			name: "Slurm task", index: "SLURM_PROCID", counts: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, job: "SLURM_JOB_ID", within: "SLURM_ARRAY_JOB_ID",
			started: "SLURM_STEP_ID", instead: "start takt by srun, which starts it once for each task",
			noNumber: "start takt by srun, which sets it",
			advice:   "raise --ntasks",
		},
		{
			name: "Slurm array", index: "SLURM_ARRAY_TASK_ID", counts: []string{"SLURM_ARRAY_TASK_COUNT"}, job: "SLURM_ARRAY_JOB_ID",
			array:    &indices{"SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"},
			noNumber: "start the array by sbatch --array, which sets it",
			advice:   "give sbatch a longer --array",
		},
		{
			name: "AWS Batch array job", index: "AWS_BATCH_JOB_ARRAY_INDEX", counts: []string{"AWS_BATCH_JOB_ARRAY_SIZE", ShardsVariable}, job: "AWS_BATCH_JOB_ID", parent: ":",
			noNumber: "set TAKT_SHARDS to the size of the array",
			advice:   "raise the size of the array",
		},
		{
			name: "GNU parallel", index: "PARALLEL_SEQ", first: 1, counts: []string{ShardsVariable},
			noNumber: "parallel does not tell it: set TAKT_SHARDS to the number of its jobs",
			advice:   "give parallel more jobs, and raise TAKT_SHARDS",
		},
	}
}

// variables is how the process reads its environment.
type variables func(name string) string

// shown is a variable as messages and reports show it.
func (v variables) shown(name string) string { return fmt.Sprintf("%s=%.40s", name, v(name)) }

// Resolve replaces auto by the shard that the environment says. A run group that is auto, or that
// the user left open beside the shard auto, becomes the id of the job.
func (s *Shard) Resolve(getenv func(string) string, group *RunGroup) error {
	v := variables(getenv)
	var by *launcher
	if s.auto {
		var err error
		if by, err = s.resolve(v); err != nil {
			return err
		}
	}
	return v.resolveGroup(group, by)
}

// resolve replaces auto, and returns the launcher that numbers the process; nil: the user did.
func (s *Shard) resolve(v variables) (*launcher, error) {
	if text := v(shardVariable); text != "" && text != auto {
		if err := s.Set(text); err != nil {
			return nil, value.About(fmt.Errorf("--shard auto: %s: %w", shardVariable, err), "shard")
		}
		if n := v(ShardsVariable); n != "" && n != fmt.Sprint(s.n) {
			return nil, value.About(fmt.Errorf("--shard auto: %s and %s differ; correct %s, or leave it out", v.shown(shardVariable), v.shown(ShardsVariable), ShardsVariable), "shard")
		}
		s.from = v.shown(shardVariable)
		return nil, nil
	}
	l, found, err := v.launcher()
	if err != nil {
		return nil, value.About(fmt.Errorf("--shard auto: %w", err), "shard")
	}
	*s = found
	return &l, nil
}

// launcher returns the one launcher that numbers processes, and the shard that this process is.
// A launcher of a single process numbers nothing: the tasks of a Slurm array are mostly single ones.
func (v variables) launcher() (launcher, Shard, error) {
	var all, several []launcher
	shards := map[string]Shard{}
	var unstarted *launcher
	for _, l := range launchers() {
		if v(l.index) == "" {
			continue
		}
		if v.isUnstarted(l) {
			unstarted = &l
			continue
		}
		shard, err := v.shard(l)
		if err != nil {
			return l, shard, err
		}
		all, shards[l.name] = append(all, l), shard
		if shard.n > 1 {
			several = append(several, l)
		}
	}
	switch {
	case len(several) == 1:
		l := several[0]
		return l, shards[l.name], v.checkCount(l, shards[l.name])
	case len(several) > 1:
		return launcher{}, Shard{}, v.ambiguous(several)
	case len(all) > 0 && v(ShardsVariable) == "1":
		return all[0], shards[all[0].name], nil
	case len(all) > 0:
		return launcher{}, Shard{}, v.single(all[len(all)-1])
	case unstarted != nil:
		return launcher{}, Shard{}, fmt.Errorf("%s is set without %s, so this is not one of the tasks but the script that starts them; %s", v.shown(unstarted.index), unstarted.started, unstarted.instead)
	}
	return launcher{}, Shard{}, v.nothing()
}

// isUnstarted reports whether the process is the script that starts the launcher's processes, and
// that has the number of the first.
func (v variables) isUnstarted(l launcher) bool {
	return l.started != "" && v(l.started) == "" && v(l.index) == fmt.Sprint(l.first)
}

// shard is this process among those of l.
func (v variables) shard(l launcher) (Shard, error) {
	count := v.count(l)
	if count == "" {
		return Shard{}, fmt.Errorf("%s numbers this process, but %s is not set, the number of processes; %s", v.shown(l.index), strings.Join(l.counts, " or "), l.noNumber)
	}
	n, err := v.number(count)
	if err != nil {
		return Shard{}, err
	}
	i, err := v.number(l.index)
	if err != nil {
		return Shard{}, err
	}
	first := l.first
	if l.array != nil {
		if first, err = v.start(l.array, n); err != nil {
			return Shard{}, err
		}
	}
	if i < first || i-first >= n {
		return Shard{}, fmt.Errorf("%s is not one of the %d processes from %d to %d that %s allows; correct %s", v.shown(l.index), n, first, first+n-1, v.shown(count), count)
	}
	return Shard{k: i - first + 1, n: n, from: v.shown(l.index) + ", " + v.shown(count)}, nil
}

// count is the variable with the number of l's processes; "": none is set.
func (v variables) count(l launcher) string {
	for _, name := range l.counts {
		if v(name) != "" {
			return name
		}
	}
	return ""
}

// number reads a variable.
func (v variables) number(name string) (uint64, error) {
	n, err := parseNumber(v(name))
	if err != nil {
		return 0, fmt.Errorf("%s is %w; give --shard k/n", v.shown(name), err)
	}
	return n, nil
}

// start is the first number of a list of n. Gaps are refused: which numbers exist is then unknown.
func (v variables) start(a *indices, n uint64) (uint64, error) {
	if step := v(a.step); step != "" && step != "1" {
		return 0, fmt.Errorf("%s leaves gaps between the numbers; use an array without a step, such as --array=1-8", v.shown(a.step))
	}
	least, err := v.number(a.least)
	if err != nil || v(a.most) == "" {
		return least, err
	}
	most, err := v.number(a.most)
	if err == nil && most-least+1 != n {
		err = fmt.Errorf("an array of %d numbers from %s to %s has gaps; use numbers in a row, such as --array=1-8", n, v.shown(a.least), v.shown(a.most))
	}
	return least, err
}

// checkCount compares the launcher's number of processes with the user's.
func (v variables) checkCount(l launcher, s Shard) error {
	if text := v(ShardsVariable); text != "" && text != fmt.Sprint(s.n) {
		return fmt.Errorf("%s and %s differ; correct %s, or leave it out", v.shown(v.count(l)), v.shown(ShardsVariable), ShardsVariable)
	}
	return nil
}

// single is the error for a launcher with one process, whose whole load one process would send.
func (v variables) single(l launcher) error {
	return fmt.Errorf("%s of a %s says that there is only one process, which is no shard; %s, leave out --shard, or set %s=1 if one is meant", v.shown(v.count(l)), l.name, l.advice, ShardsVariable)
}

// ambiguous is the error for several launchers that number this process.
func (v variables) ambiguous(several []launcher) error {
	var said []string
	for _, l := range several {
		said = append(said, fmt.Sprintf("%s (%s, %s)", l.name, v.shown(l.index), v.shown(v.count(l))))
	}
	return fmt.Errorf("several launchers number this process: %s; say which shard it is with --shard k/n or %s=k/n", strings.Join(said, " and "), shardVariable)
}

// nothing is the error for an environment without a number.
func (v variables) nothing() error {
	looked := []string{shardVariable}
	hint := ""
	for _, l := range launchers() {
		looked = append(looked, l.index)
		if count := v.count(l); count != "" && hint == "" {
			hint = fmt.Sprintf("; %s is set, but says only how many there are", v.shown(count))
		}
	}
	return fmt.Errorf("no variable says which shard this is: takt looked for %s%s; give --shard k/n, or set %s=k/n", strings.Join(looked, ", "), hint, shardVariable)
}
