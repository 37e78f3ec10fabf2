// RUN: %doctest %s
// The text says where it stands, so that a compilation can go on from it.
// options: phase=sharded
//--- before
module {
}
//--- after
module attributes {weft.phase = "sharded"} {
}
