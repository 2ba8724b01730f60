package manifest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

func swarmEngine() Engine {
	return Engine{
		Name:  "swarm",
		Short: "two services, for docker stack deploy",
		Long: `takt prints a compose file for docker stack deploy: a service with the gatherer, whose
exit code is that of the run, and one with the shards. Both read the token from the
secret NAME-token. The first lines say how to read the report and the exit code.`,
		Endless: true,
		Example: `  takt fleet manifest swarm --shards 8 --image registry.example.com/takt:1.0 -- http --rate 400k/s -z 5m http://shop/ > fleet.yaml
  openssl rand -hex 32 | docker secret create takt-token -
  docker stack deploy -c fleet.yaml takt`,
		New: func() Writer { return &swarm{network: overlayNetwork, perNode: 1} },
	}
}

// swarm are the options of a stack.
type swarm struct {
	network string
	node    string // hostname of the gatherer's; "": any
	folder  string // on each node, with the files of the command; "": none
	perNode int    // most shards on a node
}

// The networks of the services.
const (
	overlayNetwork = "overlay" // of the stack
	hostNetwork    = "host"    // of the node
)

// AddFlags implements Writer.
func (s *swarm) AddFlags(fs *pflag.FlagSet, f *Fleet) {
	f.AddImageFlag(fs)
	f.AddSizeFlags(fs)
	fs.Var(value.Choice(&s.network, overlayNetwork, hostNetwork), "network", "network of the containers, `overlay|host`: host costs less for each packet, and needs --gatherer-node")
	fs.Var(value.Text(&s.node), "gatherer-node", "run the gatherer on the node with the hostname `NODE`, which the other nodes must be able to resolve")
	fs.Var(value.Text(&s.folder), "folder", "`FOLDER` with the files that the command reads, on each node")
	fs.IntVar(&s.perNode, "per-node", s.perNode, "run at most `N` shards on a node")
}

// What Swarm expands in a mount's source, {{ }}, is not among the letters of these.
var (
	goodNode   = regexp.MustCompile(`^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$`)
	goodFolder = regexp.MustCompile(`^/[-+.,@_/A-Za-z0-9]*$`)
)

// Validate implements Writer.
func (s *swarm) Validate(f *Fleet) []error {
	var faults value.Faults
	faults.If(s.network == hostNetwork && s.node == "", "--network host needs --gatherer-node, because the shards find the gatherer by the name of its node")
	faults.If(s.node != "" && !goodNode.MatchString(s.node), "--gatherer-node is %.60q; give the hostname of a node, as docker node ls shows it", s.node)
	faults.If(s.folder != "" && !goodFolder.MatchString(s.folder), "--folder is %.60q; give an absolute path of letters, digits and -+.,@_/", s.folder)
	faults.If(f.Image == "", "--image is empty; give the image of takt")
	faults.Range("per-node", s.perNode, 1, maxShards)
	for _, name := range f.Reads {
		faults.If(s.folder == "", "after --: the command reads %.60q, and no container has this file; copy it to a folder on each node, and give the folder with --folder", name)
		faults.If(s.folder != "" && (path.IsAbs(name) || strings.HasPrefix(path.Clean(name), "..")), "after --: the command reads %.60q; give a name below --folder, in which the containers run", name)
	}
	for _, name := range f.Writes {
		faults.If(true, "after --: the gatherer would write %.60q in its container, which the stack removes; write to standard output, as in -o json=-, and use docker service logs", name)
	}
	return faults
}

// Text implements Writer.
func (s *swarm) Text(f *Fleet) string {
	p := stack{s, f}
	return p.head() + yamlDocuments(object{
		{"version", "3.8"},
		{"services", object{{gathererPart, p.gatherer()}, {shardPart, p.shards()}}},
		{"secrets", object{{p.secretName(), object{{"external", true}}}}},
		{"networks", object{{stackNetwork, p.net()}}},
	})
}

// stack are the parts of a compose file.
type stack struct {
	*swarm
	*Fleet
}

const (
	stackNetwork = "fleet"
	secretFolder = "/run/secrets/"
)

func (p stack) secretName() string { return p.Name + "-token" }

// head is a comment: how to use the file. It contains no words of the command.
func (p stack) head() string {
	service := p.Name + "_" + gathererPart
	lines := []string{
		fmt.Sprintf("A fleet of takt: a gatherer and %s.", shardsWord(p.Shards)),
		"To run it, to read the report, and to end with the exit code of the run:",
		"",
		fmt.Sprintf("  openssl rand -hex 32 | docker secret create %s -", p.secretName()),
		fmt.Sprintf("  docker stack deploy -c fleet.yaml %s || exit", p.Name),
		fmt.Sprintf(`  until task=$(docker service ps -q %s) && [ "$task" ]; do sleep 1; done`, service),
		`  until docker inspect -f '{{.Status.State}}' "$task" | grep -xE 'complete|failed|rejected|shutdown|orphaned'; do sleep 1; done`,
		fmt.Sprintf("  docker service logs --raw %s", service),
		`  docker inspect -f '{{.Status.State}}' "$task" | grep -qx complete && exit`,
		`  code=$(docker inspect -f '{{.Status.ContainerStatus.ExitCode}}' "$task"); exit $((code ? code : 1))`,
		"",
		fmt.Sprintf("Services that have ended do not start again: remove the stack before the next run, with docker stack rm %s.", p.Name),
		"The secret can remain.",
	}
	if p.folder != "" {
		lines = append(lines, "", fmt.Sprintf("Each node has the files that the command reads in %s.", p.folder))
	}
	return comment(lines)
}

func (p stack) gatherer() object {
	var placement object
	if p.node != "" {
		placement = object{{"constraints", list{"node.hostname == " + p.node}}}
	}
	return p.service(p.Fleet.Gatherer(p.Address()), 1, placement, object{{"limits", p.memory()}})
}

// shards have no limit of CPUs: a limit is a quota, which stops takt for the rest of each period
// of 100 ms.
func (p stack) shards() object {
	at := gathererPart
	if p.network == hostNetwork {
		at = p.node
	}
	words := []string{"shard", "--fleet", fmt.Sprintf("%s:%d", at, p.Port), "--join-timeout", p.JoinTimeout.String()}
	reserved := append(object{{"cpus", fmt.Sprint(p.CPUs)}}, p.memory()...)
	return p.service(words, p.Shards, object{{"max_replicas_per_node", p.perNode}}, object{{"limits", p.memory()}, {"reservations", reserved}})
}

// memory is a size such as 512Mi as Docker writes it, where M is 1024 × 1024.
func (p stack) memory() object { return object{{"memory", strings.TrimSuffix(p.Memory, "i")}} }

// service has no restart: an interrupted run is not repeated.
func (p stack) service(words []string, replicas int, placement, resources object) object {
	command := make(list, len(words))
	for i, word := range words {
		command[i] = composeText(word)
	}
	return object{
		{"image", composeText(p.Image)},
		{"command", command},
		// A stored run would end with its container.
		{"environment", object{{"TAKT_FLEET_TOKEN_FILE", secretFolder + p.secretName()}, {"TAKT_NO_STORE", "true"}}},
		{"secrets", list{p.secretName()}},
		{"networks", list{stackNetwork}},
		{"volumes", p.files()},
		{"working_dir", p.workingFolder()},
		{"cap_drop", list{"ALL"}},
		{"read_only", true},
		{"stop_grace_period", fmt.Sprintf("%ds", seconds(p.Drain+5*time.Second))},
		{"deploy", object{
			{"mode", "replicated"},
			{"replicas", replicas},
			{"endpoint_mode", p.endpoint()},
			{"restart_policy", object{{"condition", "none"}}},
			{"placement", placement},
			{"resources", resources},
		}},
	}
}

// files mounts the folder with the files of the command.
func (p stack) files() list {
	if p.folder == "" {
		return nil
	}
	return list{object{{"type", "bind"}, {"source", p.folder}, {"target", filesFolder}, {"read_only", true}}}
}

func (p stack) workingFolder() any {
	if p.folder == "" {
		return nil
	}
	return filesFolder
}

// endpoint is the name of the gatherer's container itself. The default is a virtual address, whose
// connections Linux forgets when nothing is sent for 15 minutes.
func (p stack) endpoint() any {
	if p.network == hostNetwork {
		return nil
	}
	return "dnsrr"
}

func (p stack) net() object {
	if p.network == hostNetwork {
		return object{{"external", true}, {"name", "host"}}
	}
	return object{{"driver", "overlay"}}
}

// composeText is a text in a compose file, where $ begins a variable. Swarm expands {{ }} in
// variables, hostnames and mounts, but not in commands.
func composeText(text string) string { return strings.ReplaceAll(text, "$", "$$") }
