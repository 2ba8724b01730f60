package manifest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

func swarmEngine() Engine {
	return Engine{
		Name:  "swarm",
		Short: "a stack of Docker Swarm: two services, for docker stack deploy",
		Long: `takt prints a compose file for docker stack deploy, with a service for the gatherer
and one for the shards. Both read the token of the fleet from the secret NAME-token.

docker stack deploy does not wait; the exit code of the run is that of the gatherer's
container. docker stack rm NAME comes before the next run.`,
		Example: `  openssl rand -hex 32 | docker secret create takt-token -
  takt fleet manifest swarm --shards 8 --image registry.example.com/takt -- http --rate 400k/s -z 5m http://shop/ > fleet.yaml
  docker stack deploy -c fleet.yaml takt`,
		New: func() Writer { return &swarm{network: overlay, perNode: 1} },
	}
}

// swarm are the options of a stack.
type swarm struct {
	network string // overlay or host
	node    string // of the gatherer; "": any
	perNode int
}

// The networks of the services.
const (
	overlay = "overlay" // of the stack
	host    = "host"    // of the node
)

// AddFlags implements Writer.
func (s *swarm) AddFlags(fs *pflag.FlagSet, f *Fleet) {
	f.AddImageFlag(fs)
	f.AddSizeFlags(fs)
	fs.Var(value.Choice(&s.network, overlay, host), "network", "network of the services, `overlay|host`: host costs less per packet, but needs --gatherer-node")
	fs.Var(value.Text(&s.node), "gatherer-node", "run the gatherer on the node with the hostname `NODE`, which all nodes can resolve")
	fs.IntVar(&s.perNode, "per-node", s.perNode, "at most `N` shards on a node")
}

// goodHost is the hostname of a node.
var goodHost = regexp.MustCompile(`^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$`)

// Validate implements Writer.
func (s *swarm) Validate(f *Fleet) []error {
	var faults value.Faults
	faults.If(s.network == host && s.node == "", "--network host needs --gatherer-node, because the shards find the gatherer by the name of its node")
	faults.If(s.node != "" && !goodHost.MatchString(s.node), "--gatherer-node is %.60q; give the hostname of a node, as docker node ls shows it", s.node)
	faults.Range("per-node", s.perNode, 1, maxShards)
	faults.If(f.Image == "", "--image is empty; give the image of takt")
	return faults
}

// Text implements Writer.
func (s *swarm) Text(f *Fleet) string {
	network, address := swarmOverlay, "gatherer"
	if s.network == host {
		network, address = swarmHost, s.node
	}
	shard := []string{"shard", "--fleet", fmt.Sprintf("%s:%d", address, f.Port), "--join-timeout", f.JoinTimeout.String()}
	return fmt.Sprintf(swarmHead, f.Name, f.Shards) +
		s.service(f, "gatherer", f.Gatherer(f.Address()), s.gathererDeploy(f)) +
		s.service(f, "shard", shard, fmt.Sprintf(swarmShards, f.Shards, s.perNode, f.CPUs, composeSize(f.Memory))) +
		fmt.Sprintf(swarmTail, f.Name, network)
}

// gathererDeploy is how Swarm runs the gatherer.
func (s *swarm) gathererDeploy(f *Fleet) string {
	placement := ""
	if s.node != "" {
		placement = fmt.Sprintf(swarmPlacement, composeText("node.hostname == "+s.node))
	}
	return fmt.Sprintf(swarmGatherer, placement, composeSize(f.Memory))
}

func (s *swarm) service(f *Fleet, name string, words []string, deploy string) string {
	command := make([]string, len(words))
	for i, word := range words {
		command[i] = composeText(word)
	}
	return fmt.Sprintf(swarmService, name, composeText(f.Image), strings.Join(command, ", "), f.Name) + deploy
}

// composeText is a text in a compose file, where $ begins a variable. Swarm expands {{ }} in the
// environment and in hostnames, but not in commands, so no text of the user may be there.
func composeText(text string) string { return yamlText(strings.ReplaceAll(text, "$", "$$")) }

// composeSize is a size such as 512Mi as Docker writes it: 512M is 512 MiB there.
func composeSize(size string) string { return yamlText(strings.TrimSuffix(size, "i")) }

const (
	swarmHead = `# A gatherer of takt and its shards, as a stack of Docker Swarm.
#   openssl rand -hex 32 | docker secret create %[1]s-token -
#   docker stack deploy -c fleet.yaml %[1]s
#   docker service logs --follow --raw %[1]s_gatherer
# The exit code of the run is that of the gatherer's container:
#   docker inspect --format '{{.Status.State}} {{.Status.ContainerStatus.ExitCode}}' $(docker service ps -q %[1]s_gatherer)
# Remove the stack before the next run: docker stack rm %[1]s
version: "3.8"

services:
`
	// Linux services need no capability, and takt writes only to the volume of its image.
	swarmService = `  %s:
    image: %s
    command: [%s]
    environment:
      TAKT_FLEET_TOKEN_FILE: /run/secrets/%[4]s-token
    secrets: [%[4]s-token]
    networks: [fleet]
    cap_drop: [ALL]
    read_only: true
    stop_grace_period: 30s
    deploy:
      mode: replicated
      # A run that was interrupted is not repeated.
      restart_policy:
        condition: none
`
	swarmGatherer = `      replicas: 1
      endpoint_mode: dnsrr
%s      resources:
        limits:
          memory: %s

`
	swarmPlacement = `      placement:
        constraints: [%s]
`
	// A limit of CPUs is a quota, which would stop takt in the middle of its load.
	swarmShards = `      replicas: %d
      placement:
        max_replicas_per_node: %d
      # No limit of CPUs: a limit stops takt for the rest of each period of 100 ms.
      resources:
        reservations:
          cpus: "%d"
          memory: %[4]s
        limits:
          memory: %[4]s

`
	swarmTail = `secrets:
  %s-token:
    external: true

networks:
  fleet:
%s`
	swarmOverlay = `    driver: overlay
`
	swarmHost = `    external: true
    name: host
`
)
