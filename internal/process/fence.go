package process

import (
	"crypto/rand"
	"os/exec"
	"time"
)

// Fenced is a program that leaves nothing behind when takt ends it, or dies: no process of its group, and
// no process that has left the group and kept its environment.
type Fenced struct {
	*Child

	mark  string // the variable of all its processes
	guard *Guard
}

// markVariable names the processes of one program.
const markVariable = "TAKT_UNDER_TEST"

// LaunchFenced is LaunchOn with a fence. cmd.Env must be set.
func LaunchFenced(cmd *exec.Cmd, cpus []int) (*Fenced, error) {
	f := &Fenced{mark: markVariable + "=" + rand.Text()}
	var err error
	if f.guard, err = NewGuard(f.mark); err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, f.mark)
	if f.Child, err = LaunchOn(cmd, cpus); err != nil {
		f.guard.End()
		return nil, err
	}
	f.guard.Watch(f.Pid())
	return f, nil
}

// Pids are the processes of the program.
func (f *Fenced) Pids() []int {
	if pids := Bearing(f.mark); len(pids) > 0 {
		return pids
	}
	return []int{f.Pid()}
}

// Release removes the fence of a program that has ended: what it left behind may live on.
func (f *Fenced) Release() { f.guard.End() }

// Stop asks the program to end, kills it after the grace, and kills what it has started and left. killed: it
// had not ended by itself.
func (f *Fenced) Stop(grace time.Duration) (killed bool) {
	all := Bearing(f.mark)
	killed = f.End(grace)
	KillBearing(f.mark)
	AwaitEnd(all) // those of the group were killed by its end
	f.Release()
	return killed
}
