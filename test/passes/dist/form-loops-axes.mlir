// RUN: weft-opt %s --dist-form-loops --verify-diagnostics
// Microbatches are counted by one axis.

// expected-error @below {{has 2 temporal axes; microbatches are counted by one}}
module attributes {dist.mesh = #dist.mesh<[temporal "mb"=2, temporal "half"=2]>} {
}
