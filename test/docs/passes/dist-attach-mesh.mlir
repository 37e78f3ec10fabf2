// RUN: %doctest %s
// An axis written as a product becomes two sub-axes, and two microbatches a temporal axis.
// options: mesh=dp=4x2,tp=2 microbatches=2
//--- before
module {
}
//--- after
#mesh = #dist.mesh<["dp.0"=4, "dp.1"=2, "tp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
}
