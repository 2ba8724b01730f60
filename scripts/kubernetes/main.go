// Command kubernetes is a control plane of Kubernetes in one program, for tests: API server,
// scheduler and Job controller are the real ones, from the module k8s.io/kubernetes. In place of
// kubelets an agent starts the containers of pods as processes. There are no images and no network
// of pods.
//
//	kubernetes serve FOLDER PORT   until SIGTERM; etcd must be in PATH
//	kubernetes kubectl …           kubectl of the same version
//
// FOLDER/images/NAME is the program of the image NAME. FOLDER/kubeconfig is for kubectl, and exists
// once the cluster accepts pods.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	runtime.LockOSThread() // the programs that serve starts end with this thread
	if len(os.Args) < 2 {
		fatal(fmt.Errorf("usage: kubernetes serve FOLDER PORT, or kubernetes kubectl …"))
	}
	words := os.Args[2:]
	switch os.Args[1] {
	case "serve":
		fatal(serve(words))
	case "kubectl":
		os.Args = os.Args[1:] // kubectl looks there for plugins
		fatal(kubectl.NewDefaultKubectlCommand().Execute())
	case "apiserver": // a process of its own: each of them owns the signals and the flags of klog
		run(apiserver.NewAPIServerCommand(), words)
	case "scheduler":
		run(scheduler.NewSchedulerCommand(), words)
	default:
		fatal(fmt.Errorf("unknown command %q", os.Args[1]))
	}
}

func run(c *cobra.Command, words []string) {
	c.SetArgs(words)
	fatal(c.Execute())
}

// serve runs the cluster until SIGTERM.
func serve(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("usage: kubernetes serve FOLDER PORT")
	}
	port, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	c := &cluster{folder: words[0], port: port}
	defer c.stop()
	return c.run(ctx)
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
