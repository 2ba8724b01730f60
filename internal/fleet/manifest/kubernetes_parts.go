package manifest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// parts are the objects of a manifest.
type parts struct {
	*kubernetes
	*Fleet
}

// The components, in the label app.kubernetes.io/component.
const (
	gathererPart = "gatherer"
	shardPart    = "shard"
)

// Where the files of the command are, and where takt stores its runs; as in docker/Dockerfile.
const (
	filesFolder = "/files"
	dataFolder  = "/data"
)

func (p parts) gathererName() string { return p.Name + "-gatherer" }
func (p parts) shardsName() string   { return p.Name + "-shards" }

// secretName is the Secret that both Jobs get their settings from.
func (p parts) secretName() string {
	if p.secret != "" {
		return p.secret
	}
	return p.Name
}

// prints reports whether the command writes its report to standard output in this format.
func (p parts) prints(format string) bool {
	for _, word := range p.Command {
		word = strings.TrimPrefix(strings.TrimPrefix(word, "--output="), "-o=")
		if word == format || word == format+"=-" {
			return true
		}
	}
	return false
}

// labels are those of a component; "": of the whole fleet.
func (p parts) labels(component string) object {
	all := object{{"app.kubernetes.io/name", "takt"}, {"app.kubernetes.io/instance", p.Name}}
	if component != "" {
		all = append(all, field{"app.kubernetes.io/component", component})
	}
	return all
}

// selector is what selects the pods of a component.
func (p parts) selector(component string) object { return object{{"matchLabels", p.labels(component)}} }

func (p parts) metadata(name, component string, more ...field) object {
	return object{{"name", name}, {"namespace", omitted(p.namespace)}, {"labels", append(p.labels(component), more...)}}
}

// omitted is text, or nil if it is empty.
func omitted(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (p parts) token() object {
	return object{
		{"apiVersion", "v1"}, {"kind", "Secret"},
		{"metadata", p.metadata(p.secretName(), "")},
		{"stringData", object{{"TAKT_FLEET_TOKEN", p.Token}}},
	}
}

// service lets shards find the gatherer by name, also before it is ready: shards try again.
func (p parts) service() object {
	return object{
		{"apiVersion", "v1"}, {"kind", "Service"},
		{"metadata", p.metadata(p.gathererName(), gathererPart)},
		{"spec", object{
			{"clusterIP", "None"}, {"publishNotReadyAddresses", true},
			{"selector", p.labels(gathererPart)},
			{"ports", list{object{{"name", "fleet"}, {"port", p.Port}}}},
		}},
	}
}

// gathererPolicy lets only shards reach the gatherer.
func (p parts) gathererPolicy() object {
	from := object{
		{"from", list{object{{"podSelector", p.selector(shardPart)}}}},
		{"ports", list{object{{"protocol", "TCP"}, {"port", p.Port}}}},
	}
	return p.policy(p.gathererName(), gathererPart, field{"ingress", list{from}})
}

// shardsPolicy lets nobody reach a shard.
func (p parts) shardsPolicy() object { return p.policy(p.shardsName(), shardPart) }

func (p parts) policy(name, component string, rules ...field) object {
	spec := object{{"podSelector", p.selector(component)}, {"policyTypes", list{"Ingress"}}}
	return object{
		{"apiVersion", "networking.k8s.io/v1"}, {"kind", "NetworkPolicy"},
		{"metadata", p.metadata(name, component)},
		{"spec", append(spec, rules...)},
	}
}

func (p parts) gatherer() object {
	const cpus = 1 // merges the seconds of 1,000 shards with a tenth of it
	// the shards end first, and their reports must arrive
	grace := p.Drain + 2*graceReserve
	return p.job(p.gathererName(), gathererPart, nil, failAtOnce(), p.pod(gathererPart, p.Fleet.Gatherer(p.Address()), cpus, grace))
}

func (p parts) shards() object {
	var labels []field
	if p.queue != "" {
		labels = append(labels, field{"kueue.x-k8s.io/queue-name", p.queue})
	}
	counts := object{{"completionMode", "Indexed"}, {"completions", p.Shards}, {"parallelism", p.Shards}}
	if lost := p.MayLose(); lost > 0 {
		counts = append(counts, object{{"backoffLimitPerIndex", 0}, {"maxFailedIndexes", lost}}...)
	} else {
		counts = append(counts, failAtOnce()...)
	}
	words := []string{"shard", "--fleet", fmt.Sprintf("%s:%d", p.gathererName(), p.Port), "--join-timeout", p.JoinTimeout.String()}
	return p.job(p.shardsName(), shardPart, labels, counts, p.pod(shardPart, words, p.CPUs, p.Drain+graceReserve))
}

// graceReserve is the time in which a shard that was told to end sends its report, after its drain.
const graceReserve = 5 * time.Second

// failAtOnce makes a Job fail, and end its other pods, when the first pod has failed. No pod is
// started again: who joins a run late is refused, so a second try would only hide the failure.
func failAtOnce() object {
	rule := object{
		{"action", "FailJob"},
		{"onExitCodes", object{{"containerName", "takt"}, {"operator", "NotIn"}, {"values", list{0}}}},
	}
	return object{{"backoffLimit", 0}, {"podFailurePolicy", object{{"rules", list{rule}}}}}
}

// job is a Job with one kind of pods.
func (p parts) job(name, component string, labels []field, pods, template object) object {
	spec := append(slices.Clone(pods), object{
		{"activeDeadlineSeconds", seconds(p.Limit())},
		{"ttlSecondsAfterFinished", seconds(p.kept)},
		{"template", template},
	}...)
	return object{
		{"apiVersion", "batch/v1"}, {"kind", "Job"},
		{"metadata", p.metadata(name, component, labels...)},
		{"spec", spec},
	}
}

// pod is a pod with takt as its only container.
//
// The annotation with the id makes each manifest another one. Without it, kubectl apply of the same
// command would find an ended Job unchanged, and its report would be taken for that of a new run.
func (p parts) pod(component string, words []string, cpus int, grace time.Duration) object {
	var selector object
	var tolerations, spread list
	if component == shardPart {
		selector, tolerations, spread = p.nodeSelector(), p.tolerations(), p.spread()
	}
	return object{
		{"metadata", object{
			{"labels", append(p.labels(component), field{"sidecar.istio.io/inject", "false"})}, // a proxy would add its own latency, and never end
			{"annotations", object{
				{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
				{"karpenter.sh/do-not-disrupt", "true"},
				{"linkerd.io/inject", "disabled"},
				{"taktload/manifest", p.ID},
			}},
		}},
		{"spec", object{
			{"restartPolicy", "Never"},
			{"terminationGracePeriodSeconds", seconds(grace)},
			{"automountServiceAccountToken", false},
			{"enableServiceLinks", false}, // for a Service takt they would be settings such as TAKT_PORT
			{"securityContext", object{{"runAsNonRoot", true}, {"seccompProfile", object{{"type", "RuntimeDefault"}}}}}, // no user: OpenShift chooses one, and refuses others
			{"nodeSelector", selector}, {"tolerations", tolerations}, {"topologySpreadConstraints", spread},
			{"containers", list{p.container(component, words, cpus)}},
			{"volumes", p.volumes()},
		}},
	}
}

func (p parts) container(component string, words []string, cpus int) object {
	// Requests that equal the limits, in whole cores: the class Guaranteed, so that a kubelet
	// with static CPU manager gives the container cores of its own.
	size := object{{"cpu", cpus}, {"memory", p.Memory}}
	c := object{
		{"name", "takt"}, {"image", p.Image}, {"imagePullPolicy", p.pulled()}, {"args", kubernetesArgs(words)},
		{"env", p.env(component)},
		{"envFrom", list{object{{"secretRef", object{{"name", p.secretName()}}}}}},
		{"resources", object{{"requests", size}, {"limits", size}}},
		{"terminationMessagePolicy", "FallbackToLogsOnError"},
		{"securityContext", object{
			{"allowPrivilegeEscalation", false}, {"readOnlyRootFilesystem", true},
			{"capabilities", object{{"drop", list{"ALL"}}}},
		}},
	}
	mounts := list{object{{"name", "data"}, {"mountPath", dataFolder}}}
	if p.configMap != "" || p.claim != "" {
		c = append(c, field{"workingDir", filesFolder}) // so names of files are as they are here
		mounts = append(mounts, object{{"name", "files"}, {"mountPath", filesFolder}, {"readOnly", true}})
	}
	return append(c, field{"volumeMounts", mounts})
}

// isLocal reports whether the image has no registry, so that the nodes must have it already.
func (p parts) isLocal() bool { return !strings.Contains(p.Image, "/") }

// pulled says when a node gets the image: of a local one never, else as Kubernetes decides.
func (p parts) pulled() any {
	if p.isLocal() {
		return "IfNotPresent"
	}
	return nil
}

// env are the variables of a container: those of takt's image, for images of others.
func (p parts) env(component string) list {
	env := list{
		object{{"name", "HOME"}, {"value", dataFolder}},
		object{{"name", "XDG_DATA_HOME"}, {"value", dataFolder}},
	}
	if component == gathererPart && !p.mayStore() {
		env = append(env, object{{"name", "TAKT_NO_STORE"}, {"value", "true"}}) // the volume ends with the pod
	}
	return env
}

// mayStore reports whether the user may have given a store, or the command needs its runs again.
func (p parts) mayStore() bool {
	return p.secret != "" || slices.Contains(p.Command, "verify") || slices.ContainsFunc(p.Command, func(word string) bool { return strings.HasPrefix(word, "--store") })
}

func (p parts) volumes() list {
	all := list{object{{"name", "data"}, {"emptyDir", object{{"sizeLimit", "1Gi"}}}}}
	switch {
	case p.configMap != "":
		all = append(all, object{{"name", "files"}, {"configMap", object{{"name", p.configMap}}}})
	case p.claim != "":
		all = append(all, object{{"name", "files"}, {"persistentVolumeClaim", object{{"claimName", p.claim}, {"readOnly", true}}}})
	}
	return all
}

// nodeSelector are the labels of the nodes for shards.
func (p parts) nodeSelector() (labels object) {
	for _, label := range p.nodes {
		key, text, _ := strings.Cut(label, "=")
		labels = append(labels, field{key, text})
	}
	return labels
}

// tolerations let the shards run on nodes that a taint reserves for them.
func (p parts) tolerations() (all list) {
	for _, label := range p.nodes {
		key, text, _ := strings.Cut(label, "=")
		all = append(all, object{{"key", key}, {"operator", "Equal"}, {"value", text}})
	}
	return all
}

// spread puts the shards on as many nodes as can run them: two shards of one node share its network
// card. Nodes with taints do not count, else a control plane without shards would stop the spread.
func (p parts) spread() list {
	return list{object{
		{"maxSkew", 1}, {"topologyKey", "kubernetes.io/hostname"}, {"whenUnsatisfiable", "DoNotSchedule"},
		{"nodeTaintsPolicy", "Honor"},
		{"labelSelector", p.selector(shardPart)},
	}}
}

// kubernetesArgs are words as the container gets them: Kubernetes replaces $(NAME) in arguments, and
// $$ by $.
func kubernetesArgs(words []string) (args list) {
	for _, word := range words {
		args = append(args, strings.ReplaceAll(word, "$", "$$"))
	}
	return args
}
