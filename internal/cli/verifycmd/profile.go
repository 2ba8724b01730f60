package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/service"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// profilePage is the page of Go's net/http/pprof with a CPU profile.
const profilePage = "/debug/pprof/profile"

// profilePairs is the default of --profile-pairs: enough to prove something of 100 functions.
const profilePairs = 12

// profiled is --profile: after the judgement, CPU profiles of both servers in pairs of runs of their own, so that
// profiling cannot change the verdict.
type profiled struct {
	where string // auto, off, a URL or a command; "": off
	count int    // pairs

	from profileSource
}

// profileSource is where profiles are from: a page or a command, with marks such as {{.Port}}; the zero value: runs
// take none.
type profileSource struct{ page, command string }

// sourceOf reads --profile, whose page is that of auto. A command has a mark for the file that it writes.
func sourceOf(text, page string) profileSource {
	switch {
	case strings.Contains(text, service.FileMark):
		return profileSource{command: text}
	case text == statsAuto:
		return profileSource{page: page}
	}
	return profileSource{page: text}
}

func (p *profiled) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Offering(value.Starting(value.Owned(&p.where, startsNone)), statsAuto, statsOff, "http://127.0.0.1:{{.Port}}"+profilePage), "profile", "after the judgement, take CPU profiles of both servers by `auto|off|URL|COMMAND` in further pairs of runs, and name the functions that became slower; auto: "+profilePage+" of Go; COMMAND writes {{.File}}: 'py-spy record --pid {{.Pid}} -d {{.Seconds}} -f raw -F -o {{.File}}' (default off)")
	fs.IntVar(&p.count, "profile-pairs", profilePairs, "make `N` pairs of runs for --profile")
}

func (p *profiled) on() bool { return p.where != "" && p.where != statsOff }

func (p *profiled) validate(v *verifyCommand, command []string) (faults value.Faults) {
	faults.If(!p.on() && v.env.Typed("profile-pairs"), "--profile-pairs is for --profile; leave it out, or give --profile auto")
	if !p.on() {
		faults.If(v.outputs.has(format.Folded), "-o folded writes the stacks of profiles; leave it out, or give --profile auto")
		return faults
	}
	if !v.git.on() {
		faults.If(v.env.Typed("profile"), "--profile is for --git, where takt starts both servers; leave it out, or give --git BASE..HEAD")
		p.where = "" // by TAKT_PROFILE, which is for all comparisons
		return faults
	}
	faults.If(p.count < 1, "bad --profile-pairs %d; give a number above 0", p.count)
	pages := service.Pages(command, profilePage)
	p.from = sourceOf(p.where, strings.Join(pages, "")) // one, or none
	faults.If(p.where == statsAuto && pages == nil, "--profile auto needs a load with a URL http://…%s…; give --profile the URL of the profile", service.PortMark)
	faults.If(p.from.page != "" && !isServerURL(p.from.page), "bad --profile %q; give auto, off, a URL such as http://127.0.0.1:%s%s, or a command that writes a profile to %s", value.HidePassword(p.from.page), service.PortMark, profilePage, service.FileMark)
	return faults
}

// measure makes the pairs and adds their functions to the judgement. Profiles that cannot be had are no fault of the
// judgement: it says why.
func (p *profiled) measure(ctx context.Context, v *verifyCommand, command []string, j *verify.Judgement) error {
	b := v.series.block(ctx, v, command) // not warm: its runs are not stored
	var runs [2][]*functions.Run
	for _, side := range v.servers.sides {
		side.profile = p.from
	}
	defer func() {
		for _, side := range v.servers.sides {
			side.profile = profileSource{}
		}
	}()
	for i := range p.count {
		err := b.both(i)
		for side, of := range v.servers.sides {
			if err == nil && of.profileFault != nil {
				err = of.wrong(of.profileFault)
			}
			if err == nil {
				runs[side] = append(runs[side], of.profiles)
			}
		}
		if err != nil && core.SignalOf(ctx) != nil {
			return err
		}
		if err != nil {
			j.Advice = append(j.Advice, "no functions, because a profile is missing: "+core.OneLine(err))
			return nil
		}
		fmt.Fprintf(v.env.Stderr, "verify: profiles: pair %d of %d\n", i+1, p.count)
	}
	r, err := functions.Compare(runs[verify.DuetBase], runs[verify.DuetHead], v.options.Confidence)
	if err != nil {
		j.Advice = append(j.Advice, "no functions: "+err.Error())
		return nil
	}
	if least := functions.Enough(len(r.Functions), v.options.Confidence); least > p.count {
		j.Advice = append(j.Advice, fmt.Sprintf("%d pairs can prove nothing about %d functions; give --profile-pairs %d or more", p.count, len(r.Functions), least))
	}
	servers := v.servers
	if diff, err := servers.repository.Diff(ctx, servers.sides[verify.DuetBase].commit, servers.sides[verify.DuetHead].commit, functions.Sources()); err == nil {
		r.Touch(diff)
	}
	j.Functions = &r
	return nil
}

// profileLead is how much earlier than a run its profile begins: one profile is to last for the whole run.
const profileLead = 200 * time.Millisecond

// profiling is the profile of a run as it is taken.
type profiling struct {
	run  *functions.Run
	err  error
	over chan struct{} // closed when the run is over
	end  sync.Once
	done chan struct{}
}

// errNoLength is the error of a run whose length its command cannot be told.
var errNoLength = errors.New("the command of --profile has to know how long a run lasts; give the load a duration (-z), or a rate")

// profiler begins to take profiles of what is measured in a run.
func (r *visit) profiler() *profiling {
	p := &profiling{run: functions.NewRun(r.built.PathOf), over: make(chan struct{}), done: make(chan struct{})}
	length := r.length - r.warmup
	if r.warmup == 0 {
		length += profileLead
	}
	seconds := max(1, int(math.Ceil(length.Seconds())))
	go func() {
		defer close(p.done)
		if !pause.For(r.warmup, p.over) {
			return
		}
		if r.profile.command != "" {
			p.err = r.byCommand(p.run, seconds)
			return
		}
		p.err = r.byPage(p, seconds)
	}()
	return p
}

// byCommand adds what one call of the command writes.
func (r *visit) byCommand(run *functions.Run, seconds int) error {
	if r.length == 0 {
		return errNoLength
	}
	text, err := r.server.ProfileBy(r.ctx, r.profile.command, seconds)
	if err != nil {
		return err
	}
	return run.Add(text)
}

// byPage adds profiles of the page until the run is over, whose length may not be known.
func (r *visit) byPage(p *profiling, seconds int) error {
	for {
		text, err := r.server.Profile(r.ctx, r.profile.page, seconds)
		if err == nil {
			err = p.run.Add(text)
		}
		if err != nil {
			return err
		}
		select {
		case <-p.over:
			return nil
		default:
			seconds = 1 // the run lasts longer than its schedule, or has none
		}
	}
}

// finish waits for the last profile, whose end without load has no samples.
func (p *profiling) finish() {
	p.end.Do(func() { close(p.over) })
	<-p.done
}

// profiledRun adds the profile of a run to its side. used is the CPU time of the server's processes; 0: not known.
func (r *visit) profiledRun(report *takt.Report, used time.Duration) {
	if r.taking == nil {
		return
	}
	r.taking.finish()
	run := r.taking.run
	run.Requests = float64(report.Counts.OK + report.Counts.Failed)
	r.profiles, r.profileFault = run, r.taking.err
	if r.profileFault == nil {
		r.profileFault = fitting(run, time.Duration(float64(used)*run.Requests/max(1, endedOf(report))))
	}
	r.taking = nil
}

// fitting gives the samples of a run their time, and is why its profile cannot be that of the server. used is the CPU
// time that the server used.
func fitting(run *functions.Run, used time.Duration) error {
	switch {
	case run.Requests == 0:
		return errors.New("not one operation ended")
	case run.Total() == 0:
		return errors.New("the profile has no samples; check the process that it is of, or make longer runs")
	case run.Foreign():
		return errors.New("no function of the profile is in a file of the commit; check the process that it is of, and that it has whole paths")
	case run.Counted && used == 0:
		return errors.New("stacks have no times, and takt reads the CPU time of a server only on Linux; use a profiler that writes pprof's format or a .cpuprofile")
	case run.Counted:
		run.Spread(used)
	}
	return nil
}
