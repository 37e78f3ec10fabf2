// RUN: %doctest %s
// A program that was lowered for one target goes on for that one only. The default target leaves no attribute.
//--- before
// expected-error @below {{the program is for target 'tpu', not for 'cpu'}}
module attributes {weft.target = "tpu"} {
}
