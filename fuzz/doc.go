// Package fuzz will hold the fuzz targets that span packages, with the inputs
// that once broke something in testdata. It has no code outside tests, and it
// is not built yet: the fuzz targets of one package stand beside that package.
package fuzz
