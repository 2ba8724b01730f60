package live

import "math"

// The buckets of the heat map cover 1 µs to 1 h, in microseconds. Each step from 1 to 2, 2 to 5 and
// 5 to 10 has partsOfStep of them, so that the axis has round figures.
const (
	partsOfStep = 4
	perDecade   = 3 * partsOfStep
	buckets     = 9*perDecade + 7
)

// steps are the ends of the steps of a decade.
func steps() [4]float64 { return [...]float64{1, 2, 5, 10} }

// bucketOf is the bucket of a latency in microseconds.
func bucketOf(us float64) int {
	if us <= 1 {
		return 0
	}
	decade := math.Floor(math.Log10(us))
	part, ends := us/math.Pow(10, decade), steps()
	for i := range 3 {
		if from, to := ends[i], ends[i+1]; part < to || i == 2 {
			within := int(partsOfStep * math.Log(part/from) / math.Log(to/from))
			return min(int(decade)*perDecade+i*partsOfStep+min(within, partsOfStep-1), buckets-1)
		}
	}
	return 0
}

// lowest is the lower end of a bucket, in microseconds.
func lowest(bucket int) float64 {
	i, ends := bucket%perDecade/partsOfStep, steps()
	within := float64(bucket%partsOfStep) / partsOfStep
	return math.Pow(10, float64(bucket/perDecade)) * ends[i] * math.Pow(ends[i+1]/ends[i], within)
}
