// RUN: %doctest %s
// Where nothing is cut into stages, the pipeline runs on the module itself.
// options: pipeline=builtin.module(dist-attach-mesh{mesh=dp=2})
//--- before
module {
  module @stage0 attributes {weft.stage = 0 : i64} {
  }
  module @stage1 attributes {weft.stage = 1 : i64} {
  }
}
//--- after
#mesh = #dist.mesh<["dp"=2]>
module {
  module @stage0 attributes {dist.mesh = #mesh, weft.stage = 0 : i64} {
  }
  module @stage1 attributes {dist.mesh = #mesh, weft.stage = 1 : i64} {
  }
}

