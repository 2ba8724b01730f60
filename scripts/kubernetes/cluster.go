package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/controller/job"
)

// nodes is how many nodes the cluster has, and cores how many cores each says it has.
const (
	nodes = 4
	cores = 8
)

// pool is a label that all nodes have, with the value load. The last node also has it as a taint.
const pool = "takt.test/pool"

// cluster is a control plane and its nodes. It uses the ports port to port+3.
type cluster struct {
	folder   string
	port     int
	children []*exec.Cmd
	agent    *agent
}

func (c *cluster) path(name string) string { return filepath.Join(c.folder, name) }

// start starts a program, which ends with this one.
func (c *cluster) start(name, program string, words ...string) error {
	log, err := os.Create(c.path(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, words...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.children = append(c.children, cmd)
	return nil
}

// stop ends everything, in the reverse order of the start.
func (c *cluster) stop() {
	if c.agent != nil {
		c.agent.stop()
	}
	for i := len(c.children) - 1; i >= 0; i-- {
		_ = c.children[i].Process.Kill() // nothing of the cluster is needed again
		_ = c.children[i].Wait()
	}
}

func (c *cluster) run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	token, err := c.secrets()
	if err != nil {
		return err
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d", c.port+1)
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.port+2)
	err = c.start("etcd", "etcd", "--data-dir", c.path("etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--unsafe-no-fsync")
	if err != nil {
		return err
	}
	err = c.start("apiserver", self, "apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(c.port),
		"--cert-dir", c.path("certs"), "--token-auth-file", c.path("tokens"), "--authorization-mode", "AlwaysAllow", "--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", "https://takt.test", "--service-account-key-file", c.path("key"), "--service-account-signing-key-file", c.path("key"))
	if err != nil {
		return err
	}
	client, err := c.client(ctx, token)
	if err != nil {
		return err
	}
	if err := c.start("scheduler", self, "scheduler", "--kubeconfig", c.path("starting"), "--leader-elect=false", "--secure-port", fmt.Sprint(c.port+3), "--bind-address", "127.0.0.1", "--cert-dir", c.path("certs")); err != nil {
		return err
	}
	if err := c.jobs(ctx, client); err != nil {
		return err
	}
	c.agent = newAgent(client, c.folder)
	if err := c.join(ctx, client); err != nil {
		return err
	}
	go c.agent.run(ctx)
	if err := os.Link(c.path("starting"), c.path("kubeconfig")); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// secrets writes the token of kubectl, and the key of service accounts.
func (c *cluster) secrets() (token string, err error) {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	token = hex.EncodeToString(b)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(c.path("key"), block, 0o600); err != nil {
		return "", err
	}
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: takt, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: takt, user: {token: %s}}]
contexts: [{name: takt, context: {cluster: takt, user: takt}}]
current-context: takt
`, c.port, token)
	if err := os.WriteFile(c.path("starting"), []byte(config), 0o600); err != nil {
		return "", err
	}
	return token, os.WriteFile(c.path("tokens"), []byte(token+",takt,takt,system:masters\n"), 0o600)
}

// client waits until the API server answers, and creates what controllers of a real cluster would:
// the account of pods.
func (c *cluster) client(ctx context.Context, token string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.path("starting"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, last = client.CoreV1().ServiceAccounts("default").Create(ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: "default"}}, meta.CreateOptions{})
		return last == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("the API server does not answer: %v", last)
	}
	// The profile "restricted" of Pod Security is enforced, as in clusters with strict rules.
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	_, err = client.CoreV1().Namespaces().Patch(ctx, "default", "application/merge-patch+json", patch, meta.PatchOptions{})
	return client, err
}

// jobs starts the Job controller.
func (c *cluster) jobs(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := job.NewController(ctx, client, factory.Core().V1().Pods(), factory.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go controller.Run(ctx, 2)
	return nil
}

// join creates the nodes.
func (c *cluster) join(ctx context.Context, client kubernetes.Interface) error {
	for i := range nodes {
		name := fmt.Sprintf("node%d", i+1)
		node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{core.LabelHostname: name, pool: "load"}}}
		node, err := client.CoreV1().Nodes().Create(ctx, node, meta.CreateOptions{})
		if err != nil {
			return err
		}
		size := core.ResourceList{core.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), core.ResourceMemory: resource.MustParse("16Gi"), core.ResourcePods: resource.MustParse("100"), core.ResourceEphemeralStorage: resource.MustParse("100Gi")}
		node.Status = core.NodeStatus{
			Capacity: size, Allocatable: size,
			Conditions:      []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue, LastHeartbeatTime: meta.Now(), LastTransitionTime: meta.Now()}},
			Addresses:       []core.NodeAddress{{Type: core.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: core.NodeDaemonEndpoints{KubeletEndpoint: core.DaemonEndpoint{Port: int32(c.agent.port())}},
		}
		if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, node, meta.UpdateOptions{}); err != nil {
			return err
		}
		// The admission plugin TaintNodesByCondition waits for a controller that is not here.
		patch := []byte(`{"spec":{"taints":null}}`)
		if i == nodes-1 {
			patch = []byte(`{"spec":{"taints":[{"key":"` + pool + `","value":"load","effect":"NoSchedule"}]}}`)
		}
		if _, err := client.CoreV1().Nodes().Patch(ctx, name, "application/merge-patch+json", patch, meta.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}
