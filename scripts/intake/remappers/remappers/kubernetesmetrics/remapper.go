// Package kubernetesmetrics replaces the package of this name in opentelemetry-lib.
package kubernetesmetrics

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
)

// Remapper maps nothing.
type Remapper struct{}

// NewRemapper returns a Remapper.
func NewRemapper(*zap.Logger) *Remapper { return &Remapper{} }

// Remap does nothing.
func (*Remapper) Remap(pmetric.ScopeMetrics, pmetric.MetricSlice, pcommon.Resource) {}
