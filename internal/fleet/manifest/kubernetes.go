package manifest

import "github.com/spf13/pflag"

func kubernetesEngine() Engine {
	return Engine{
		Name:  "kubernetes",
		Short: "two Jobs and a Service of Kubernetes, for kubectl apply",
		Example: `  takt fleet manifest kubernetes --shards 8 --image registry.example.com/takt -- http --rate 400k/s -z 5m http://shop/ > fleet.yaml
  kubectl apply -f fleet.yaml`,
		New: func() Writer { return &kubernetes{} },
	}
}

// kubernetes are the options of a manifest for kubectl.
type kubernetes struct{}

// AddFlags implements Writer.
func (k *kubernetes) AddFlags(fs *pflag.FlagSet, f *Fleet) {
	f.AddImageFlag(fs)
	f.AddSizeFlags(fs)
	f.AddDeadlineFlag(fs)
}

// Validate implements Writer.
func (k *kubernetes) Validate(f *Fleet) []error { return nil }

// Text implements Writer.
func (k *kubernetes) Text(f *Fleet) string { return "" }
