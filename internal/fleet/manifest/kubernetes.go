package manifest

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

func kubernetesEngine() Engine {
	return Engine{
		Name:  "kubernetes",
		Short: "two Jobs and a Service, for kubectl apply",
		Long: `takt prints a manifest for kubectl apply: a Job with the gatherer, whose exit code is
that of the run, an Indexed Job with the shards, a Service, two NetworkPolicies, and a
Secret with a fresh token. The first lines say how to read the report and the exit code.`,
		Example: `  takt fleet manifest kubernetes --shards 8 --image registry.example.com/takt:1.0 -- http --rate 400k/s -z 5m http://shop/ > fleet.yaml
  kubectl apply -f fleet.yaml`,
		New: func() Writer { return &kubernetes{kept: 24 * time.Hour} },
	}
}

// kubernetes are the options of a manifest for kubectl.
type kubernetes struct {
	namespace string        // "": that of kubectl
	secret    string        // existing Secret with the token; "": a new one
	nodes     []string      // KEY=VALUE of the nodes for shards; none: all nodes
	queue     string        // LocalQueue of Kueue; "": none
	configMap string        // existing ConfigMap with the files of the command; "": none
	claim     string        // existing PersistentVolumeClaim with them; "": none
	kept      time.Duration // how long the ended Jobs remain
}

// AddFlags implements Writer.
func (k *kubernetes) AddFlags(fs *pflag.FlagSet, f *Fleet) {
	f.AddImageFlag(fs)
	f.AddSizeFlags(fs)
	fs.Var(value.Text(&k.namespace), "namespace", "Kubernetes `NAMESPACE` (default: that of kubectl)")
	fs.Var(value.Text(&k.secret), "secret", "use an existing Secret `NAME` with TAKT_FLEET_TOKEN and other settings, such as TAKT_BEARER")
	fs.Var(value.Text(&k.configMap), "config-map", "existing ConfigMap `NAME` with the files that the command reads")
	fs.Var(value.Text(&k.claim), "volume-claim", "existing PersistentVolumeClaim `NAME` with the files that the command reads, such as large logs")
	fs.Var(value.List(&k.nodes), "nodes", "run the shards on nodes with this label `KEY=VALUE`, also if they have a taint with this key and value; repeatable")
	fs.Var(value.Text(&k.queue), "queue", "queue `NAME` of Kueue that admits the shards")
	fs.Var(value.Duration(&k.kept), "keep", "delete the Jobs with their reports `TIME` after their end")
}

// Validate implements Writer.
func (k *kubernetes) Validate(f *Fleet) []error {
	var faults value.Faults
	for _, name := range []struct{ flag, text string }{
		{"namespace", k.namespace}, {"secret", k.secret}, {"config-map", k.configMap}, {"volume-claim", k.claim}, {"queue", k.queue},
	} {
		faults.If(name.text != "" && (len(name.text) > 63 || !goodName.MatchString(name.text)), "--%s is %.60q; use at most 63 lower-case letters, digits and dashes, and begin with a letter", name.flag, name.text)
	}
	for _, label := range k.nodes {
		faults.If(!goodLabel.MatchString(label), "--nodes is %.60q; give a label of nodes as KEY=VALUE, such as pool=load", label)
	}
	faults.If(k.kept < 0 || k.kept.Seconds() > math.MaxInt32, "--keep is %v; give a time from 0 to 68 years", k.kept)
	faults.If(!goodImage.MatchString(f.Image), "--image is %.60q; give the name of an image, such as registry.example.com/takt:1.0", f.Image)
	faults.If(k.configMap != "" && k.claim != "", "both --config-map and --volume-claim are given; keep one")
	faults.Add(k.files(f)...)
	for _, name := range f.Writes {
		faults.If(true, "after --: the gatherer would write %.60q in its container, which ends with the run; write to standard output, as in -o json=-, and use kubectl logs", name)
	}
	return faults
}

// goodImage matches the names of images. The first lines of the manifest contain it.
var goodImage = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._/:@]*$`)

// goodLabel matches a label with a value.
var goodLabel = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?=[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

// files returns the faults of files that the command reads.
func (k *kubernetes) files(f *Fleet) (faults []error) {
	for _, name := range f.Reads {
		switch {
		case k.configMap == "" && k.claim == "":
			faults = append(faults, value.Faultf("after --: the command reads %.60q, and no container has this file; put it into a ConfigMap and give its name with --config-map, or a volume with --volume-claim", name))
		case path.IsAbs(name) || strings.HasPrefix(path.Clean(name), ".."):
			faults = append(faults, value.Faultf("after --: the command reads %.60q; give a name below this folder: the containers run in a folder with these files", name))
		case k.configMap != "" && strings.Contains(path.Clean(name), "/"):
			faults = append(faults, value.Faultf("after --: the command reads %.60q, and a ConfigMap has no folders; give a file of this folder, or use --volume-claim", name))
		}
	}
	return faults
}

// Text implements Writer.
func (k *kubernetes) Text(f *Fleet) string {
	p := parts{k, f}
	all := []object{p.service(), p.gathererPolicy(), p.shardsPolicy(), p.gatherer(), p.shards()}
	if k.secret == "" {
		all = append([]object{p.token()}, all...)
	}
	return p.head() + yamlDocuments(all...)
}

// head is a comment: how to use the manifest. It contains no words of the command.
func (p parts) head() string {
	kubectl := "kubectl"
	if p.namespace != "" {
		kubectl += " -n " + p.namespace
	}
	only := "" // of what the container printed, the report
	switch {
	case p.prints("json"):
		only = ` | sed -n '/^{/,/^}/p'`
	case p.prints("html"):
		only = ` | sed -n '/^<!doctype/,/^<.html>/p'`
	}
	lines := []string{
		fmt.Sprintf("A fleet of takt: a gatherer and %s. It needs Kubernetes 1.31 or later.", shardsWord(p.Shards)),
		"To run it, to read the report, and to end with the exit code of the run:",
		"",
		"  " + kubectl + " apply -f fleet.yaml || exit 1",
		fmt.Sprintf("  %s wait job/%s --for=jsonpath='{.status.conditions[0].type}' --timeout=%ds", kubectl, p.gathererName(), seconds(p.Limit()+reserve)),
		fmt.Sprintf("  %s logs job/%s%s", kubectl, p.gathererName(), only),
		fmt.Sprintf("  code=$(%s get pods -l job-name=%s -o jsonpath='{.items[0].status.containerStatuses[0].state.terminated.exitCode}')", kubectl, p.gathererName()),
		`  exit "${code:-1}"`,
		"",
		"A Job cannot be changed, so kubectl apply fails while the last run is there: delete it, or use another --name.",
		"",
		fmt.Sprintf("  %s delete job,service,networkpolicy,secret -l app.kubernetes.io/instance=%s", kubectl, p.Name),
	}
	return comment(append(lines, p.needs(kubectl)...))
}

// needs says what must exist before the manifest is applied.
func (p parts) needs(kubectl string) (lines []string) {
	if p.isLocal() {
		lines = append(lines, "", fmt.Sprintf("The nodes must have the image %s, as after: kind load docker-image %s. For one of a registry give --image.", p.Image, p.Image))
	}
	if p.secret != "" {
		lines = append(lines, "", "The Secret has the token, and each setting that must not be in a manifest, such as TAKT_BEARER:", "",
			fmt.Sprintf(`  %s create secret generic %s --from-literal=TAKT_FLEET_TOKEN="$(openssl rand -hex 32)"`, kubectl, p.secret))
	}
	if p.configMap != "" {
		lines = append(lines, "", "The ConfigMap has the files that the command reads:", "", "  "+kubectl+" create configmap "+p.configMap)
		for _, name := range p.Reads {
			lines[len(lines)-1] += " " + shellWord("--from-file="+path.Clean(name))
		}
	}
	if p.claim != "" {
		lines = append(lines, "", "The volume has the files that the command reads. The nodes of all shards must be able to mount it (ReadOnlyMany).")
	}
	if p.queue != "" {
		lines = append(lines, "", fmt.Sprintf("Kueue admits the shards. The gatherer starts at once, and waits %v for them: see --join-timeout.", p.JoinTimeout))
	}
	return lines
}

// comment is a comment of YAML, of sh, or of both.
func comment(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		line = strings.NewReplacer("\n", "?", "\r", "?").Replace(line) // the name of a file may contain them
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	return b.String()
}

func shardsWord(n int) string {
	if n == 1 {
		return "1 shard"
	}
	return fmt.Sprintf("%d shards", n)
}

// seconds is a time in whole seconds, rounded up.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
