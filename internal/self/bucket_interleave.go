//go:build interleave

package self

// bucketRecords is small; bucket.go has the value of a normal build.
const bucketRecords = 2
