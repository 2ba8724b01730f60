package main

import (
	"fmt"

	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/pkg/controller/job"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

func main() {
	fmt.Println(apiserver.NewAPIServerCommand(), scheduler.NewSchedulerCommand(nil), job.NewController, kubectl.NewDefaultKubectlCommand())
}
