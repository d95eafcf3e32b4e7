//go:build !interleave

package self

// bucket.go and bucket_interleave.go are a switch by build tag: a record that a claim or a
// find reads is a step of a model, so that models have small buckets.

// bucketRecords is how many records fit in two cache lines of 64 bytes with their count.
const bucketRecords = 7
