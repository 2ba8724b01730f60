package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// agent plays the kubelets of all nodes: it starts bound pods as processes of this machine and
// reports how they end.
type agent struct {
	client kubernetes.Interface
	folder string
	logs   *httptest.Server

	mutex sync.Mutex
	pods  map[string]*process // by the uid of the pod
}

// process is the container of a pod.
type process struct {
	cmd     *exec.Cmd
	started meta.Time
	over    chan struct{} // closed after the last status was written
}

func newAgent(client kubernetes.Interface, folder string) *agent {
	a := &agent{client: client, folder: folder, pods: map[string]*process{}}
	a.logs = httptest.NewTLSServer(http.HandlerFunc(a.serveLog))
	return a
}

// port is where the API server asks for logs.
func (a *agent) port() int { return a.logs.Listener.Addr().(*net.TCPAddr).Port }

// stop kills all containers.
func (a *agent) stop() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, p := range a.pods {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	a.logs.Close()
}

// run looks for changes of pods. A list every 50 ms is simple, and misses nothing.
func (a *agent) run(ctx context.Context) {
	for ctx.Err() == nil {
		list, err := a.client.CoreV1().Pods("").List(ctx, meta.ListOptions{ResourceVersion: "0"})
		if err == nil {
			for i := range list.Items {
				a.look(ctx, &list.Items[i])
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (a *agent) look(ctx context.Context, pod *core.Pod) {
	a.mutex.Lock()
	p := a.pods[string(pod.UID)]
	a.mutex.Unlock()
	switch {
	case pod.Spec.NodeName == "" || ended(*pod):
		if pod.DeletionTimestamp != nil {
			a.remove(ctx, pod)
		}
	case p == nil && pod.DeletionTimestamp != nil:
		a.remove(ctx, pod)
	case p == nil:
		if err := a.start(ctx, pod); err != nil && err != errNoPod {
			fmt.Fprintf(os.Stderr, "pod %s: %v\n", pod.Name, err)
		}
	case pod.DeletionTimestamp != nil:
		a.end(p, time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second)
	}
}

func ended(pod core.Pod) bool {
	return pod.Status.Phase == core.PodFailed || pod.Status.Phase == core.PodSucceeded
}

// remove deletes a pod whose container has ended, as a kubelet does.
func (a *agent) remove(ctx context.Context, pod *core.Pod) {
	now := int64(0)
	_ = a.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, meta.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &meta.Preconditions{UID: &pod.UID}})
}

// end tells a container to end, and kills it after the grace period. It is called again and again,
// which a process that ends by SIGTERM does not mind; takt would take a second one for haste.
func (a *agent) end(p *process, grace time.Duration) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if p.cmd.Cancel != nil {
		return
	}
	p.cmd.Cancel = func() error { return nil } // marks that it was told
	pid := p.cmd.Process.Pid
	_ = syscall.Kill(pid, syscall.SIGTERM)
	go func() {
		select {
		case <-p.over:
		case <-time.After(grace):
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}()
}

func (a *agent) logPath(namespace, pod string) string {
	return filepath.Join(a.folder, "pods", namespace+"_"+pod+".log")
}

// start starts the one container of a pod.
func (a *agent) start(ctx context.Context, pod *core.Pod) error {
	c := pod.Spec.Containers[0]
	home := filepath.Join(a.folder, "pods", string(pod.UID))
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	env, err := a.environment(ctx, pod)
	if err != nil {
		return err
	}
	mounts, err := a.mounts(ctx, pod, home)
	if err != nil {
		return err
	}
	mapping := expansion.MappingFuncFor(env)
	cmd := exec.Command(filepath.Join(a.folder, "images", c.Image))
	for _, arg := range c.Args {
		word, err := a.resolve(ctx, pod.Namespace, expansion.Expand(arg, mapping))
		if err != nil {
			return err
		}
		cmd.Args = append(cmd.Args, word)
	}
	for name, value := range env {
		if below, ok := mounts[value]; ok {
			value = below
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Dir = home
	if c.WorkingDir != "" {
		cmd.Dir = mounts[c.WorkingDir]
	}
	log, err := os.Create(a.logPath(pod.Namespace, pod.Name))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, started: meta.Now(), over: make(chan struct{})}
	a.mutex.Lock()
	a.pods[string(pod.UID)] = p
	a.mutex.Unlock()
	_ = os.WriteFile(filepath.Join(a.folder, "pods", pod.Namespace+"_"+pod.Name+".pid"), fmt.Append(nil, cmd.Process.Pid), 0o644)
	a.report(ctx, pod, core.PodRunning, core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: p.started}})
	go a.wait(ctx, pod, p)
	return nil
}

// wait reports how a container ended. As of a kubelet, 128 and more are signals.
func (a *agent) wait(ctx context.Context, pod *core.Pod, p *process) {
	err := p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	var exit *exec.ExitError
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && errors.As(err, &exit) && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	phase, reason := core.PodSucceeded, "Completed"
	if code != 0 {
		phase, reason = core.PodFailed, "Error"
	}
	a.report(ctx, pod, phase, core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: int32(code), Reason: reason, StartedAt: p.started, FinishedAt: meta.Now()}})
	close(p.over)
}

func (a *agent) report(ctx context.Context, pod *core.Pod, phase core.PodPhase, state core.ContainerState) {
	for range 20 {
		now, err := a.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, meta.GetOptions{})
		if err != nil || now.UID != pod.UID {
			return
		}
		now.Status.Phase, now.Status.StartTime = phase, &meta.Time{Time: time.Now()}
		now.Status.HostIP, now.Status.PodIP, now.Status.PodIPs = "127.0.0.1", "127.0.0.1", []core.PodIP{{IP: "127.0.0.1"}}
		now.Status.ContainerStatuses = []core.ContainerStatus{{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, State: state, Ready: state.Running != nil}}
		if _, err = a.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, now, meta.UpdateOptions{}); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// environment is that of the container: of Secrets, and of the pod itself.
func (a *agent) environment(ctx context.Context, pod *core.Pod) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range pod.Spec.Containers[0].EnvFrom {
		secret, err := a.client.CoreV1().Secrets(pod.Namespace).Get(ctx, from.SecretRef.Name, meta.GetOptions{})
		if err != nil {
			return nil, err
		}
		for name, value := range secret.Data {
			env[name] = string(value)
		}
	}
	for _, one := range pod.Spec.Containers[0].Env {
		switch {
		case one.ValueFrom == nil:
			env[one.Name] = one.Value
		case one.ValueFrom.FieldRef != nil: // the Job controller adds the index
			env[one.Name] = pod.Labels["batch.kubernetes.io/job-completion-index"]
		}
	}
	return env, nil
}

// mounts creates the volumes, and returns the folder of each mount path.
func (a *agent) mounts(ctx context.Context, pod *core.Pod, home string) (map[string]string, error) {
	folders := map[string]string{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		folder := filepath.Join(home, mount.Name)
		folders[mount.MountPath] = folder
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		for _, v := range pod.Spec.Volumes {
			if v.Name != mount.Name || v.ConfigMap == nil {
				continue
			}
			files, err := a.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, v.ConfigMap.Name, meta.GetOptions{})
			if err != nil {
				return nil, err
			}
			for name, text := range files.Data {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
					return nil, err
				}
			}
		}
	}
	return folders, nil
}

// errNoPod means that a Service does not select its one pod yet. The start is tried again.
var errNoPod = errors.New("the Service does not select one pod yet")

// resolve plays the DNS of a cluster: SERVICE:PORT of a Service that selects one pod becomes an
// address of this machine.
func (a *agent) resolve(ctx context.Context, namespace, word string) (string, error) {
	host, port, err := net.SplitHostPort(word)
	if err != nil || host == "" {
		return word, nil
	}
	service, err := a.client.CoreV1().Services(namespace).Get(ctx, host, meta.GetOptions{})
	if err != nil || fmt.Sprint(service.Spec.Ports[0].Port) != port {
		return word, nil
	}
	pods, err := a.client.CoreV1().Pods(namespace).List(ctx, meta.ListOptions{LabelSelector: labels.SelectorFromSet(service.Spec.Selector).String()})
	if err == nil {
		pods.Items = slices.DeleteFunc(pods.Items, ended)
		if len(pods.Items) != 1 {
			err = errNoPod
		}
	}
	return net.JoinHostPort("127.0.0.1", port), err
}

// serveLog is the part of a kubelet's API that kubectl logs needs:
// /containerLogs/NAMESPACE/POD/CONTAINER.
func (a *agent) serveLog(w http.ResponseWriter, r *http.Request) {
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(words) != 4 || words[0] != "containerLogs" {
		http.NotFound(w, r)
		return
	}
	log, err := os.Open(a.logPath(words[1], words[2]))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer log.Close()
	_, _ = io.Copy(w, log)
}
