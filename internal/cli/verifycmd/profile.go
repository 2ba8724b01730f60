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
	where string // auto, off or a URL; "": off
	count int    // pairs

	page string // with {{.Port}}
}

func (p *profiled) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Offering(value.Owned(&p.where, startsNone), statsAuto, statsOff, "http://127.0.0.1:{{.Port}}"+profilePage), "profile", "after the judgement, take CPU profiles of both servers at `auto|off|URL` in further pairs of runs, and name the functions that became slower; auto: "+profilePage+" of Go (default off)")
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
	if p.page = p.where; p.where == statsAuto {
		pages := service.Pages(command, profilePage)
		faults.If(pages == nil, "--profile auto needs a load with a URL http://…%s…; give --profile the URL of the profile", service.PortMark)
		p.page = strings.Join(pages, "") // one, or none
	}
	faults.If(p.page != "" && !isServerURL(p.page), "bad --profile %q; give auto, off, or a URL such as http://127.0.0.1:%s%s", value.HidePassword(p.page), service.PortMark, profilePage)
	return faults
}

// measure makes the pairs and adds their functions to the judgement. Profiles that cannot be had are no fault of the
// judgement: it says why.
func (p *profiled) measure(ctx context.Context, v *verifyCommand, command []string, j *verify.Judgement) error {
	b := v.series.block(ctx, v, command) // not warm: its runs are not stored
	var runs [2][]*functions.Run
	for _, side := range v.servers.sides {
		side.profile = p.page
	}
	defer func() {
		for _, side := range v.servers.sides {
			side.profile = ""
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
	if diff, err := servers.repository.Diff(ctx, servers.sides[verify.DuetBase].commit, servers.sides[verify.DuetHead].commit, "*.go"); err == nil {
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

// profiler begins to take profiles of a run whose schedule lasts so long; length 0: not known.
func (r *visit) profiler(length time.Duration) *profiling {
	p := &profiling{run: functions.NewRun(), over: make(chan struct{}), done: make(chan struct{})}
	seconds := max(1, int(math.Ceil((length + profileLead).Seconds())))
	go func() {
		defer close(p.done)
		for {
			text, err := r.server.Profile(r.ctx, r.commitSide.profile, seconds)
			if err == nil {
				err = p.run.Add(text)
			}
			if p.err = err; err != nil {
				return
			}
			select {
			case <-p.over:
				return
			default:
				seconds = 1 // the run lasts longer than its schedule, or has none
			}
		}
	}()
	return p
}

// finish waits for the last profile, whose end without load has no samples.
func (p *profiling) finish() {
	p.end.Do(func() { close(p.over) })
	<-p.done
}

// profiledRun adds the profile of a run to its side.
func (r *visit) profiledRun(report *takt.Report) {
	if r.taking == nil {
		return
	}
	r.taking.finish()
	r.taking.run.Requests = endedOf(report)
	r.profiles, r.profileFault = r.taking.run, r.taking.err
	if r.profileFault == nil && r.taking.run.Requests == 0 {
		r.profileFault = errors.New("not one operation ended")
	}
	r.taking = nil
}
